"""The words broker notes use, as `fold` writes them; a letter with a mark may be there or not."""

import re
from typing import Final

_KAUF: Final = (
    r"(?:(?:wertpapier|effekten|fonds?|splitt?|sparplan|anspar|b(?:oe|o)?rsen|einmal|direkt"
    r"|nach|zu"
    r"|wertschriften|investment|ansparplan|plan)?{0}(?:s|sabrechnung|abrechnung|sbestatigung)?)"
)
BUY: Final = re.compile(
    rf"\b(?:{_KAUF.format('kauf')}|gekauft\w*|k(?:a|ae)?ufe|kaufen|zeichnung|gezeichnet"
    r"|savings plan execution|investissement programm\w*|erwerb|wiederanlage|anlage"
    r"|(?:^ausgabe$)|ausgabe (?:von )?(?:investment)?(?:fonds|anteilen?)|buy|bought"
    r"|purchased?|purchases"
    r"|subscription|subscribed|subscribe|reinvest(?:ment|ed|iert|ierung)?|drip|achat\w{0,2}"
    r"|achet\w{0,2}|souscription"
    r"|compra\w?|comprado|suscripcin|suscripcion|koop|aankoop|gekocht|acquisto|acquistato"
    r"|sottoscrizione|k(?:o|oe)?bt?|kobsnota|kjop|kjopt|k(?:o|oe)?p|kopt|kupno|verkaufsbezug"
    r"|sparplanausf(?:u|ue)?hrung|investissement|versement|einzahlung|ansparplan)\b"
)
SELL: Final = re.compile(
    rf"\b(?:{_KAUF.format('verkauf')}|verkauft\w*|verkaufen|verk(?:a|ae)?ufe|r(?:u"
    r"|ue)?cknahme|r(?:u|ue)?ckgabe"
    r"|r(?:u|ue)?ckerstattung|r(?:u|ue)?ckkauf|r(?:u|ue)?ckzahlung|einl(?:o|oe)?sung"
    r"|gesamtf(?:a|ae)?lligkeit"
    r"|tilgung|ver(?:a|ae)?u(?:ss)?erung|sell|sold|sale|sales|redemption|redeemed?|vente"
    r"|ventes|vendu\w{0,2}"
    r"|cession|rachat|ventas?|vendido|reembolso|verkoop|verkocht|vendita|venduto|rimborso|salg"
    r"|solgt|s(?:a|ae)?lj|slgt|salgsnota|slt|sprzeda|maturity|endf(?:a|ae)?lligkeit"
    r"|erstattung)\b"
)
# Words that only say a direction where they stand alone or at the head of a row.
MILD: Final = re.compile(
    r"\b(?:anlage|ansparplan|erstattung|versement|einzahlung|erwerb|tilgung|ver(?:a"
    r"|ae)?u(?:ss)?erung|maturity|sales?|drip"
    r"|investissement|compra|r(?:u|ue)?ckzahlung|kb|kp|slt|slj)\b"
)
# Titles whose letters a font has torn apart, with all spaces taken out.
TORN: Final = re.compile(
    r"(?:abrechnung|geschftsart|geschaeftsart)(kauf|verkauf)$|wirhaben.*(gekauft|verkauft)$"
    r"|wehave.*?(bought|sold)the"
)
SUBSCRIBED_RIGHTS: Final = re.compile(r"^(?:abrechnung )?bezug(?:srechte)?\b(?! auf)")
VERBS: Final = re.compile(
    r"\b(?:wir haben|haben wir|we have|you have|you bought|you sold|hebben wij|u heeft"
    r"|har den|har du|nous avons"
    r"|vous avez|abbiamo|hemos|ha usted|du har|on your behalf|f(?:u|ue)?r sie"
    r"|your instructions)\b"
)
# A word that turns a direction word into a name for something else.
NOT_DIRECTION: Final = re.compile(
    r"\b(?:(?:ver)?kauf(?:s|und|oder) (?:unterlagen|oder|und) (?:ver)?kauf\w*"
    r"|(?:ver)?k(?:a|ae)?uf\w* ?(?:und|oder|bzw|or|and) ?(?:ver)?kauf\w*"
    r"|kauf verkauf|wertpapierkauf verkauf|achat vente|buy(?:ing)? (?:and|or) sell(?:ing)?"
    r"|bought (?:and|or) sold|buy sell|purchases? (?:and|or) sales?|koop verkoop"
    r"|aankoop verkoop"
    r"|in bezug auf|point of sale|ausgabe aufschlag|zur anlage|securities purchased"
    r"|securities sold(?: and redeemed)?|assets (?:bought|sold)(?: redeemed)?|kapital anlage"
    r"|total (?:sales|purchases))\b"
)

_OE: Final = "(?:o|oe)?"
_UE: Final = "(?:u|ue)?"
_AE: Final = "(?:a|ae)?"
LABELS: Final = {
    "quantity": re.compile(
        rf"\b(?:st{_UE}ck(?:e|zahl)?(?: nominal\w*)?|stk|st|nominale?(?: (?:st{_UE}ck"
        r"|anzahl))?|menge|anzahl(?: nominal)?|anteile|anteil"
        r"|umsatz|ausgef(?:u|ue)?hrt(?:e menge)?|ausgef|davon ausgef|zugang|abgang|nennwert"
        r"|nennbetrag|beteiligungen"
        r"|quantity|qty|shares|units?|no of (?:shares|units)|number of (?:shares|units)"
        r"|executed quantity|filled"
        r"|quantit(?:e|a)?|nombre(?: de (?:parts|titres))?|nombre d unite?s? de compte|parts"
        r"|titres|nb titres"
        r"|hoeveelheid|aantal|antal(?: stk)?|numero (?:de )?(?:titulos|acciones"
        r"|participaciones)|titulos|cantidad"
        rf"|participaciones|quote|volumen?|ordervolumen|gehandelte menge|st{_UE}ck nominal\w*"
        r"|face amount|bought|sold|purchase)\b"
    ),
    "price": re.compile(
        rf"\b(?:(?:ausf{_UE}hrungs|abrechnungs|handels|transaktions|einzel|anteils?|st{_UE}ck"
        rf"|aktien|fonds|ausgabe|r{_UE}cknahme|wertpapier|b{_OE}rsen|kauf|verkaufs)?(?:kurs"
        r"|preis)"
        r"|zum (?:kurs|preis)(?: von)?|abrech preis|trans preis|nettoinventarwert"
        r"|inventarwert|anteilwert|nav"
        r"|price(?: per (?:share|unit|security))?|unit price|execution price|market price"
        r"|average price|avg price|deal price|dealing price|rate|quotazione|quotation"
        r"|cours(?: exe?cut| d exe?cution| execut)?|prix(?: unitaire)?|valeur liquidative|vl"
        r"|koers|prezzo(?: medio)?|corso|precio(?: medio| neto)?"
        r"|valor liquidativo|cambio|fondskurs|kursus|pris|zu|at|einl(?:o|oe)?sung zu)\b"
    ),
    "notional": re.compile(
        r"\b(?:(?:total )?kurswert|transaktionswert|bruttobetrag|brutto|handelswert"
        rf"|marktwert|gegenwert|anlagebetrag|ausf{_UE}hrungswert"
        r"|gross amount|gross consideration|consideration|principal(?: amount)?"
        r"|gross(?: value)?|traded value|trade value|market value|gross proceeds"
        r"|gesamtkurswert|valore(?: locale)?|amount"
        r"|montant brut|montant transaction brut|montant transaction|montant|brut"
        r"|bruto ?bedrag|bedrag|importe(?: bruto)?|efectivo|importo|controvalore|lordo"
        r"|betrag|w(?:a|ae)?hrungsbetrag|kursv(?:ae)?rdi|zum preis von|einl(?:o"
        r"|oe)?sungsbetrag|abrechnungsbetrag)\b"
    ),
    "settlement": re.compile(
        r"\b(?:ausmachender betrag|endbetrag|abrechnungsbetrag|zahlungsbetrag|gesamtbetrag"
        r"|gesamtsumme|gesamt|nettobetrag|netto(?: zugunsten| zulasten)?|auszahlungsbetrag"
        r"|zu ?(?:ihren )?(?:lasten|gunsten)(?: vor steuern)?|zu ?ihren ?(?:lasten"
        r"|gunsten)\w*|belastung|gutschrift|lastschrift|betrag zu ihren \w+|wertstellung"
        r"|valuta|wert"
        r"|net amount|net(?: proceeds| total| consideration| settlement)?|total(?: amount"
        r"| cost| due| payable| proceeds| consideration| settlement)?|settlement(?: amount"
        r"| total)?|amount (?:due|payable)|debit|credit"
        r"|montant net(?: au de?bit| au cre?dit)?|net a payer|net (?:au )?(?:de?bit|cre?dit)"
        r"|totaal(?:bedrag)?|netto ?bedrag|addebito|accredito|totale|netto ricavo|i alt"
        r"|importe (?:neto|total)|total a cargo|l(?:i)?quido|buchung auf|konto)\b"
    ),
    "fees": re.compile(
        rf"\b(?:\w*provision\w*|\w*courtage\w*|\w*geb{_UE}hr\w*|\w*entgelt\w*|\w*spesen\w*"
        r"|\w*kommission\w*|ausgabeaufschlag\w*|aufschlag|kosten|abwicklungskosten"
        r"|handelskosten|rabatt|preisnachlass|bonifikation|umschreibegeb\w*"
        r"|commissions?|\w*brokerage|fees?|charges?|levy|ptm levy|exchange fee|stamp|handling"
        r"|clearing|transaction cost|costs?|diverse"
        r"|frais|courtages?|commissione?|spese|commissie|kosten|makelaarsloon"
        r"|comisio?n(?:es)?|comision(?:es)?|gastos|corretaje|canon|kurtage|minimum"
        r"|handelsomkostninger|b(?:o|oe)?rsenplatzgeb\w*|fremde|eigene)\b"
    ),
    "taxes": re.compile(
        r"\b(?:\w*steuer\w*|\w*solidarit\w*|soli|kest|umsatzabgabe|stempel\w*|eidg|tax(?:es)?"
        r"|withholding|stamp duty|\w*duty|vat|gst|hst"
        r"|tva|taxe?s?|impo?t|prelevements?|tob|beurstaks|roerende|imposta|ritenuta|tobin|ttf"
        r"|tff|impuesto\w*|retencio?n|skat|mwst|ust|finanztransaktions\w*)\b"
    ),
    "fx": re.compile(
        r"\b(?:devisen(?:kurs|mittelkurs|briefkurs|geldkurs)?(?: zur handelsw\w*)?|devkurs"
        rf"|dev kurs|wechselkurs|umrechnungskurs|umrechnung|umrechn|w{_AE}hrungskurs|change"
        r"|exchange rate|fx(?: rate)?|rate of exchange|taux de change|cours de change"
        r"|wisselkoers|cambio|tasso di cambio|tipo de cambio|valutakurs|conversion rate)\b"
    ),
    "other": re.compile(
        r"\b(?:limit\w*|cours demand\w*|bestand\w*|neuer bestand|saldo|kontostand"
        r"|freistellung\w*|verlust\w*|gewinn\w*|bemessungs\w*|sparer\w*|verrechnung\w*"
        r"|topf\w*|depot(?:nummer| nr)?|konto(?:nummer| nr)"
        r"|iban|bic|blz|telefon|tel|fax|nr|no|nummer|seite|page|blatt|auftrag\w*"
        r"|order(?:nummer| no| number| id)?|rechnungs\w*|belegnummer|referenz\w*|reference"
        r"|ref|wkn|valor|valoren\w*|plz|zinstage|tage|jahr|zwischengewinn|steuerjahr|hrb"
        r"|ustid|uid|gesellschaft|versicherung|capital"
        rf"|anschaffungs\w*|ver{_AE}u(?:ss)?erungs\w*|ersatzbemessung\w*|teilfreistellung"
        rf"|ertr{_AE}ge|beginning|ending|balance|account|verwaltungsverg\w*|bew faktor|faktor"
        r"|best(?:a|ae)?nd|gesamt bestand|einstand\w*|cost basis|book cost|zinsen"
        rf"|marchzinsen|st{_UE}ckzinsen|accrued|acc int)\b"
    ),
}
UNITS: Final = re.compile(
    rf"^(?:st{_UE}ck|stk|st|anteile?|shares?|units?|pcs?|pc|pieces|nominale?|parts?|titres?"
    r"|actions?|stuks|unit|quote|azioni|participaciones|acciones|titulos|antal|aktier|andele"
    r"|anteilen|ant|x)\b"
)
PER_UNIT: Final = re.compile(
    r"^(?:eur |usd |chf |gbp )?(?:p st|pro st\w*|per share|je st\w*|per unit|each|par part)\b"
)

TRADE_DAY: Final = (
    (
        10,
        re.compile(
            r"\b(?:schlu?ss?s?tag\w*|handelstag\w*|handelsdatum|handelszeit\w*"
            rf"|ausf{_UE}hrungs(?:tag|datum|zeit\w*)|gesch{_AE}ftstag|abschlu?ss?(?:tag"
            r"|datum)?|transaktions(?:datum|tag|zeit\w*)"
            r"|trade ?date|trade (?:day|time)|date of (?:trade|transaction|deal|execution)"
            r"|transaction date|deal date|dealt on|bargain date|contract date|trading (?:date"
            r"|day)|execution(?: date| time)?|executed(?: on)?"
            r"|date (?:et heure )?(?:locale )?d exe?cution|date d ope?ration|date operation"
            r"|date de (?:l )?(?:ope?ration|ne?gociation|transaction)|transactiedatum"
            r"|uitvoeringsdatum|datum uitvoering|data (?:di )?(?:esecuzione|operazione"
            r"|eseguito)|esecuzione|esecuzione dell ordine"
            r"|fecha (?:de )?(?:operacio?n|ejecucio?n|contratacio?n|valor liquidativo)"
            r"|handelsdag|handelsdato|affrsdag|handelst|ausgef(?:u|ue)?hrt am"
            r"|datum der ausf(?:u|ue)?hrung|datum nettoinventarwert|as of|per datum)\b"
        ),
    ),
    (
        6,
        re.compile(
            r"\b(?:buchungsdatum|buchungstag|booking date|abrechnungs(?:tag|datum)"
            r"|date du versement|fecha)\b"
        ),
    ),
    (
        5,
        re.compile(
            r"\b(?:preisdatum|kursdatum|kurstag|price date|nav date|valuation (?:date|point)"
            r"|bewertungs(?:tag|datum)|date de valorisation)\b"
        ),
    ),
    (3, re.compile(r"^(?:datum|date|le|data|dato)\b|\b(?:datum|date|dated|vom|erstellt am)$")),
    (
        1,
        re.compile(
            r"\b(?:auftrags?(?:datum|eingang|erteilung)|auftrag(?: vom)?|order (?:date"
            r"|received)|orderdatum|erteilt am|devisenkurs\w*|kassatag)\b"
        ),
    ),
)
SETTLEMENT_DAY: Final = re.compile(
    r"\b(?:valuta(?:tag|datum|date)?|wertstellung|wert(?:tag)?|settlement(?: date| day)?"
    rf"|settle(?:s|d)?(?: date)?|value(?: date)?|kassatag|erf{_UE}llungstag|date de (?:valeur"
    r"|re?glement)|valeur|valutadatum|valuta data|data valuta|valuta al|fecha valor"
    r"|afviklingsdato|valo?r|valrdag|kontoklar|pay date|zahlbar\w*|zahltag)\b"
)
NOT_TRADE_DAY: Final = re.compile(
    r"\b(?:ex ?(?:tag|datum|date)|record date|bestandsstichtag|geschftsjahr|zeitraum|period"
    r"|gltig|valid|f(?:a|ae)?llig\w*|geburts\w*|laufzeit|endf(?:a|ae)?lligkeit|maturity"
    r"|alter saldo|neuer saldo|kontostand|"
    r"bestand (?:am|per|zum|vom)|opened|printed|gedruckt|angezeigt)\b"
)

# Papers that tell of no trade, and what to call them.
KINDS: Final = (
    (
        "dividend",
        re.compile(
            rf"\b(?:dividend\w*|ausch{_UE}ttung\w*|aussch{_UE}ttung\w*|ertragsgutschrift\w*"
            rf"|ertr{_AE}gnis\w*|ertragsabrechnung|wertpapierertr{_AE}ge\w*"
            rf"|wertpapier ertr{_AE}ge|f{_AE}lliger wertpapier"
            r"|thesaurierung\w*|vorabpauschale\w*|coupons?|kupon\w*|zinsgutschrift\w*"
            r"|zinszahlung|cash distribution|distribution (?:notice|advice)"
            r"|income distribution|dividendo\w*|cedol\w+|cupon\w*|utbytte|udbytte|uddelelse"
            r"|encaissement de coupons?)\b"
        ),
    ),
    (
        "cancellation",
        re.compile(
            r"\b(?:storno\w*|stornierung\w*|storniert\w*|annull?ierung|cancell?ation"
            r"|cancelled (?:trade|contract|order)|cancel confirmation|contract cancelled"
            r"|annulation|annulering|annullamento|anulacio?n|gestrichen|streichung)\b"
        ),
    ),
    (
        "order",
        re.compile(
            rf"\b(?:auftragsbest{_AE}tigung|orderbest{_AE}tigung|auftragserfassung"
            r"|auftragsannahme|orderaufgabe|order (?:confirmation|acknowledg\w*|receipt"
            r"|received)|acknowledg\w+ of order|confirmation d ordre|orderbevestiging"
            r"|conferma d ordine"
            r"|confirmacio?n de orden|pending order|vormerkung|kostenaufstellung|ex ante"
            r"|kosteninformation)\b"
        ),
    ),
    (
        "statement",
        re.compile(
            r"\b(?:kontoauszug\w*|depotauszug\w*|account statement|statement of account"
            r"|monthly statement|bank statement|relev\w? de compte|extracto|estratto conto"
            rf"|rekeningafschrift|kontoudtog|verm{_OE}gens{_UE}bersicht"
            rf"|verm{_OE}gensaufstellung|depot{_UE}bersicht|konto{_UE}bersicht"
            r"|rechnungsabschluss|portfolio (?:statement|report)|jahresdepotauszug|ums(?:a"
            r"|ae)?tze|transaktions(?:u|ue)?bersicht|kreditkarten\w*|tagesgeld\w*)\b"
        ),
    ),
)
HOLDINGS: Final = re.compile(
    rf"\b(?:bestand (?:am|per|zum)|depotbestand|holdings|positions|best{_AE}nde"
    rf"|depot{_UE}bersicht|verm{_OE}gens{_UE}bersicht|portfolio (?:summary|overview"
    r"|valuation)|apre?s le versement|depotwert|market value|marktwert|kurswert in eur"
    r"|unrealized)\b"
)
