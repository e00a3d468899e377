"""What companies call themselves: the forms behind or before a name, in many countries."""

import re
from typing import Final

COMPANY: Final = re.compile(
    r"(?<!\w)(?:GmbH|GMBH|LTD|LIMITED|TBK|INC|PTE|mbH|AG|KG|KGaA|OHG|UG|GbR|e\.?\s?K\.?|e\.?\s?V\.?|SE|SARL|S\.?A\.?R\.?L\.?"
    r"|SAS|SASU|EURL|S\.A\.S?\.?|SA|Ltd\.?|Limited|LLC|L\.L\.C\.|Inc\.?|Corp\.?|Corporation|PLC"
    r"|LLP|Pty|PD\.?|KAP|Pvt\.?|PT\.?|P\.T\.|CV\.?|C\.V\.|UD\.?|Tbk\.?|Persero|Perum|S\.?L\.?U?\.?"
    r"|S\.?r\.?l\.?|B\.?V\.?|N\.?V\.?|Co\.|Company|Oy|AB|A/S|ApS|Sdn\.?|Bhd\.?|Pte\.?|Firma"
    r"|Koperasi|KOPERASI|Yayasan|Toko|TOKO|S\.? ?Coop\.?|gGmbH|Stiftung|Verlag"
    r"|Versicherung\w*|& ?(?:[Rr]ekan|REKAN|Partners?|Associés|Associates|Söhne|Sons|Fils))(?!\w)"
)
