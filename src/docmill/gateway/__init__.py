"""The gateway: POST /process turns an invoice into JSON or XML, and keeps nothing."""
