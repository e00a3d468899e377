"""What invoices call things: English, Indonesian, German, French, Spanish, some Dutch and Italian.

Words are compared folded: lower case, no accents, no spaces or signs, so that `Invoice No.`,
`InvoiceNo` and `INVOICE-NO` are one.
"""

import re
from functools import lru_cache
from typing import Final

from docmill.reading.dates import folded

CURRENCY_MARKS: Final = re.compile(
    r"\((?:eur|usd|idr|rp|gbp|€|\$)[^)]*\)|[€$£]|(?<!\w)(?:Rp|IDR|EUR|USD)\.?(?!\w)", re.IGNORECASE
)
_KEPT: Final = re.compile(r"[^a-z0-9#%]")
_PAPER: Final = (
    r"(?:tax|sales|commercial|vat|proforma)?(?:invoice|inv|\w*rechnung|faktura|faktur|facture"
    r"|factura|factuur|fattura|fatura|tagihan|nota|kwitansi|bill|beleg|gutschrift|creditnote"
    r"|receipt|avoir|folio|notedhonoraires|honorarnote)"
)
_NO: Final = r"(?:nr|no|number|nummer|numero|nomor|nomer|num|n|id|#|nbr|code)"

NUMBER: Final = re.compile(
    rf"{_PAPER}(?:penjualan|pembelian)?s?{_NO}(?:de)?(?:facture)?|(?:ref|our|unsere?|notre|nuestra){_PAPER}"
    rf"|(?:rg|rgn|rech|re|rn|fact|fac|fra|fkt){_NO}|{_NO}(?:de|der|del|da|of)?(?:la|the)?{_PAPER}s?"
    r"|(?:nummer|nr)derrechnung|invoicereference|rechnungs?referenz"
)
NUMBER_TITLE: Final = re.compile(
    rf"{_PAPER}s?|rechnung(?:lieferschein)?|invoicefaktur|fakturinvoice"
)
NUMBER_WEAK: Final = re.compile(
    rf"{_NO}|(?:document|documento|dokumen|dokument|doc|piece|voucher|vorgangs?){_NO}"
    rf"|{_NO}(?:de|del)?(?:document|documento|dokumen|piece|pieza|bukti|voucher)"
    r"|(?:booking|transaction|reference|ref|order)(?:id|no|number)|reference|referensi"
)
NUMBER_SERIAL: Final = re.compile(rf"(?:kodedan)?{_NO}serifakturpajak")
NOT_NUMBER: Final = re.compile(
    r".*(?:seri|fakturpajak|order|pesanan|delivery|suratjalan|liefer|kunde|client|customer"
    r"|pelanggan|associe|origin|bestell|auftrag|contract|kontrak|projet|project|rekening|account"
    r"|konto|tax(?:id|no|number)|vat|npwp|telp|phone|fax|line|ligne|item|serial|po(?:no|number)).*"
)

_THINGS: Final = (
    r"(?:order|pesanan|delivery|suratjalan|liefer\w*|kunden?|debitor|client|cliente|customer|cust|pelanggan"
    r"|bestell\w*|auftrags?|contract|kontrak|contrat|vertrags?|commande|pedido|albaran|livraison|po|do"
    r"|spk|project|projekt|account|rekening)"
)
OTHER_NUMBER: Final = re.compile(
    rf"(?:{_NO}|kode|cod|ref|your|ihre?|votre|su|bon)(?:de|del)?{_THINGS}|{_THINGS}s?(?:{_NO}|kode|ref|date)"
)

DATE: Final = re.compile(
    rf"{_PAPER}s?(?:date|datum|dt|tanggal|tgl|fecha|data)"
    rf"|(?:date|tanggal|tgl|fecha|datum|data)(?:of|de|del|der|d)?(?:la|the)?(?:issue|issued|{_PAPER}|l?emission"
    r"|emision|facturation|terbit|expedicion|pembuatan|dokumen|penerbitan)"
    r"|(?:issue|issued|billing|document|ausstellungs|dokument)(?:date|datum)|issuedon|dateissued"
    r"|dateofsupplyissue|ausgestelltam"
)
DATE_LOOSE: Final = re.compile(
    r".{0,12}(?:date(?![nirv])|datum|tanggal|tgl|fecha|emise|issued|ausgestellt|terbit).{0,8}"
)
DATE_PLAIN: Final = re.compile(r"date|datum|tanggal|tgl|fecha|dated|data|le|vom|den|issued")
NOT_DATE: Final = re.compile(
    r".*(?:liefer|leistung|delivery|order|bestell|livraison|ship|kirim|pesan|due|paid|payment"
    r"|bayar|periode?|period|print|cetak|tempo|echeance|faellig|fallig|associe|debut|definde"
    r"|entrega|ven[cz]|reglement|version|pa[yg]|zahl|limite|settle|regler|prestation|pedido|operacion"
    r"|commande|auftrag|purchase).*|po"
)
DUE: Final = re.compile(
    r"(?:payment|invoice)?due(?:date|on|by)?|(?:please)?pay(?:able|ment)?(?:by|before|until)"
    r"|(?:zahlungs)?f(?:ae|a)llig(?:keit)?(?:s?datum|am|bis)?|(?:zahlbar|zahlung)bis(?:zum)?"
    r"|zahlungsziel|zahlungstermin|(?:tanggal|tgl)?jatuhtempo(?:pembayaran)?|(?:batas"
    r"|tanggal)(?:waktu|akhir)?pembayaran|(?:date)?d?(?:limite|echeance)(?:depaiement"
    r"|dereglement)?|(?:datede)?paiementavant|apayeravant|(?:fecha|data)?(?:de|di"
    r"|limite)?(?:vencimiento|vencimento|depago|scadenza)|vervaldatum|betalenvoor"
    r"|uiterstebetaaldatum|betaaltermijn"
)
DUE_PROSE: Final = re.compile(
    r"\b(?:zahlbar|zahlen|bezahlen|f[äa]llig\w*|überweisen|begleichen|due|pa(?:y|id)(?:able|ment)?"
    r"|settle\w*|jatuh tempo|tempo|(?:di)?bayar\w*|pembayaran|pelunasan|payer|pa[iy]ement|payable"
    r"|régl\w+|règlement|abonar|pag(?:ar|o|ado)|venc\w+|échéance|zahlung\w*|betalen|scadenza)\b",
    re.IGNORECASE,
)
BY: Final = re.compile(
    r"\b(?:by|before|until|bis|vor|zum|am|avant|tard|pour|au|le|sebelum|lambat|tanggal|tgl|pada|sampai"
    r"|antes|hasta|el|del?|on|due|f[äa]llig\w*|tempo|échéance|venc\w+|voor|entro)\b",
    re.IGNORECASE,
)
NOT_DUE: Final = re.compile(
    r"[sk]konto|discount|escompte|received|diterima|erhalten|reçu", re.IGNORECASE
)
TERMS: Final = re.compile(
    r"cod|net|tunai|cash|contado|comptant|(?:payment|paiement|reglement)?(?:terms?|termin|conditions?)"
    r"(?:of|de)?(?:payment|paiement|reglement)?|zahlungsbedingung(?:en)?|syaratpembayaran|konditionen"
    r"|(?:mode|forma|condiciones)de(?:reglement|paiement|pago)|echeance(?:le)?|datelimite.*"
)
CURRENCY: Final = re.compile(
    r"(?:rechnungs|document|invoice)?(?:currency|wahrung|waehrung|devise|moneda|matauang"
    r"|monnaie)(?:code)?|(?:alle)?betragein"
)

BUYER: Final = re.compile(
    r"(?:bill(?:ed|ing)?|invoiced?|sold|charged?)to|billing(?:address|information|details)"
    r"|invoiceaddress|buyer|customer|client|kaufer(?:leistungsempfanger)?|kunde|auftraggeber"
    r"|rechnungs?(?:empfanger|adresse|anschrift|an)|leistungsempfanger|kepada(?:yth)?|yth|pembeli"
    r"|pelanggan|ditagihkan(?:kepada|ke)|tagihan(?:kepada|untuk|ke)|dijualkepada|(?:adresse)?(?:du"
    r"|de)?(?:client|facturation)|factureea?|acheteur|destinataire|facturea|klant|factuuradres|aan"
    r"|spettle|spett|destinatario|intestatario|cliente|facturara|comprador|datosdelcliente"
    r"|facturadoa|senores|sres|doit|adressea|alattentionde|ditujukankepada|ditagihke|empfanger"
    r"|invoicefor|direcciondefacturacion|adressedefacturation|recipient|attentionto|to|for|an|untuk|(?:customer|client|buyer|guest|company"
    r"|pelanggan|pembeli)s?(?:name|nama)|nama(?:pembeli|pelanggan|customer)"
)
SELLER: Final = re.compile(
    r"(?:sold|issued|supplied|provided)by|seller|vendor|supplier|from|billfrom|verkaufer|lieferant"
    r"|rechnungssteller|leistungserbringer|penjual|dari|penerbit|fournisseur|vendeur|emetteur"
    r"|emisor|proveedor|vendedor|remitfrom|absender|(?:seller|vendor|supplier)name|nama(?:penjual"
    r"|perusahaan)"
)
SHIP: Final = re.compile(
    r"(?:ship|deliver(?:ed)?)(?:ping)?to|(?:ship|deliver|shipping|delivery)(?:y|ping)?address"
    r"|lieferadresse|lieferanschrift|dikirim(?:ke|kepada)|alamatpengiriman|adressedelivraison"
    r"|livraison.*|direcciondeentrega|consignee|afleveradres|bezorgadres|verzendadres"
    r"|warenempfanger|lieferungan|livrea|lieudelivraison|enviara|direcciondeenvio|lugardeentrega"
    r"|alamatkirim|gudang(?:tujuan)?|billing(?:contact)|technicalcontact|kirimke|tujuanpengiriman|shipto.*"
)
HOLDER: Final = re.compile(
    r"(?:account|acc?|bankaccount|beneficiary)s?(?:name|holder)|beneficiary|(?:konto)?inhaber|alordrede|beneficiario|atasnama"
    r"|an|namarekening|namapemilikrekening|titulaire(?:ducompte)?|titular|beneficiaire|zahlungsempfanger|(?:nama)?penerima(?:transfer|dana)|payableto|payee"
    r"|makeallcheques?payableto"
)
TAX_ID: Final = re.compile(
    r"npwp(?:no|number|nik)?|(?:vat|tax|gst|ust|uid|tva|iva)(?:reg(?:istration)?)?(?:id|idnr|idno"
    r"|nr|no|number|nummer|n|in|identificationnumber)(?:nr)?|ustid(?:nr)?|umsatzsteuerid(?:nr)?"
    r"|gstin(?:uin)?|ntva(?:intra|client|intracommunautaire)?|numerodetva"
    r"|tvaintra(?:communautaire)?|cif|nif|nifcif|abn|taxid|ein|tin|tva"
    r"|umsatzsteueridentifikationsnummer|vatregistrationno|steuernummer|steuernr|ihreustidnr"
    r"|ustidnr|uid"
)

_COLUMNS: Final = {
    "position": (
        "regel riga itemnr pos position no nr # item# lfd lfdnr line ligne urut nourut sl sno "
        "slno lignefact num posnr posno n"
    ),
    "code": (
        "artikelcode artikelnummer codice codart productnummer artnr artikelnr itemno itemcode "
        "sku code kode kodebarang reference ref productcode codearticle codigo partno partnumber "
        "hscode hssac id artnrkunde artnrlief itemid articleno material kodeproduk productid "
        "referencia articlenumber article# plu"
    ),
    "description": (
        "omschrijving artikelomschrijving descrizione descricao dienst produit articulo "
        "beschrijving prodotto servizio description beschreibung bezeichnung item items artikel "
        "artikelbeschreibung produkt product products productservice service services leistung "
        "designation nomdesignation libelle deskripsi keterangan uraian namabarang namabarangjasa "
        "barang barangjasa jasa particulars details detail concepto descripcion text "
        "itemdescription descriptionofgoods materialbeschreibung namaproduk produk article "
        "articles rincian position positionstext uraianbarang namajasa descriptionofservices "
        "subscription goodsdescription itemname pekerjaan leistungsbeschreibung prestation "
        "jenisbarang spesifikasi descriptionofgoodsandservices activity particular tarif "
        "uraianpekerjaan itemsdescription detil"
    ),
    "quantity": (
        "aantal hoeveelheid quantita qta quantidade qtd aantallen quantity qty menge anzahl qte "
        "quantite kuantitas jumlahbarang banyaknya banyak cantidad cant units hours hrs stunden "
        "std jml kts vol volume jumlahunit qtyunit stuck stk jmlbarang qtybarang pcs nights "
        "mengeeinheit quantityunit seats users"
    ),
    "unit": (
        "eenheid unita unidade unit einheit unite satuan uom unidad me sat um uniteforpu "
        "unitforpu unitepourpu unitofmeasure"
    ),
    "unit_price": (
        "prijs stukprijs eenheidsprijs prijsperstuk prezzo prezzounitario preco precounitario "
        "tarief prijsexclbtw przunit unitprice price rate preis einzelpreis stuckpreis epreis ep "
        "preiseinh preiseinheit pu puht prixunitaire prix prixunitaireht hargasatuan harga "
        "hargaunit preciounitario precio unitcost cost nettopreis unitpriceexclvat vkpreis "
        "vkpreisohnemwst einzelpreisnetto priceunit tarif unitrate stkpreis hargasatuanidr "
        "unitpriceexvat hargarp hargasatuanrp netprice listprice priceperunit hargajual einzel "
        "epnetto puhteur hargaidr hsatuan hargaperunit unitpriceidr preisstuck preisproeinheit "
        "preisinsgesamt"
    ),
    "discount": (
        "korting sconto desconto discount disc rabatt remise rem diskon potongan descuento dto "
        "adjustments remisecharge rabattin potonganharga disk discountamount remisecharge+ "
        "zuabschlag adjustment"
    ),
    "amount": (
        "bedrag totaal prijsinclbtw totaalexclbtw regeltotaal importo totale valor valortotal "
        "totaalprijs bedragexclbtw totaalinclbtw nettobedrag totalprijs linesum amount total "
        "betrag gesamt gesamtpreis summe gesamtbetrag montant prixht prixtotal totalht jumlah "
        "jumlahharga subtotal totalharga importe linetotal lineamount lineamountexclvat "
        "zeilenbetrag zeilenbetragohnemwst entgelt nettobetrag positionsbetrag "
        "positionsbetragohneust netamount totalprice extendedprice extended amountidr nilai "
        "nettogesamt netto totalamount preisgesamt jumlahrp totalrp totalhteur value gp gpreis "
        "totalnet totalexclvat amountexclvat gesamtnetto wert montantht jumlahidr totalidr "
        "hargatotal nettowert amounteur amountusd totaleur totalusd betrageur gesamteur charges "
        "nettoeur mht baseimponible netvalue amountexvat jmlharga jumlahhargarp nilairp "
        "summenetto"
    ),
    "tax_rate": (
        "btw btw% aliquota aliqiva btwtarief vat vat% ust ust% mwst mwst% tva tax tax% taxrate "
        "ppn ppn% steuer steuersatz taux taxes iva gst vatrate tvataux ustsatz mwstsatz st "
        "tauxtva gst% %ust %mwst vatpercent steuer% gstrate pajak"
    ),
    "tax_amount": (
        "btwbedrag taxamount vatamount ustbetrag mwstbetrag montanttva steuerbetrag gstamount "
        "nilaippn ppnrp cgst sgst igst jumlahppn"
    ),
    "gross": (
        "totaalinclusiefbtw grossamount amountincltax amountinclvat brutto bruttobetrag totalttc "
        "prixttc totalinclvat grosstotal bruttogesamt gesamtbrutto totalincltax grossworth "
        "bruttoeur"
    ),
    "date": (
        "date datum shipmentdate servicedate tanggal tgl period zeitraum interval periode fecha "
        "lieferdatum leistungszeitraum leistungsdatum"
    ),
}
HEADINGS: Final = {name: kind for kind, names in _COLUMNS.items() for name in names.split()}


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Text as labels are compared."""
    return _KEPT.sub("", folded(text).replace("ß", "ss"))
