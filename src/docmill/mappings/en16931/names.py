from docmill.mappings.calling import Function
FUNCTIONS: dict[str, Function] = {}
