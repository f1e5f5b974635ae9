"""Lines of prose by language: the Universal Declaration of Human Rights and error messages."""

from __future__ import annotations

TEXTS = {
    "english": (
        "“Smart quotes” – and dashes — cost €5 … it’s the café’s naïve résumé. The order "
        "couldn’t be processed – please retry.\n"
    ),
    "german": (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Die Änderung wurde "
        "geprüft, die Größe stimmt außerhalb.\n"
    ),
    "french": (
        "Tous les êtres humains naissent libres et égaux en dignité et en droits. Le fichier "
        "n'a pas été trouvé à l'emplacement spécifié.\n"
    ),
    "spanish": (
        "Todos los seres humanos nacen libres e iguales en dignidad y, dotados como están de "
        "razón, deben comportarse así. ¿Dónde está el año?\n"
    ),
    "czech": (
        "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Příliš "
        "žluťoučký kůň úpěl ďábelské ódy.\n"
    ),
    "polish": (
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Zażółć gęślą jaźń.\n"
    ),
    "hungarian": (
        "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Árvíztűrő tükörfúrógép.\n"
    ),
    "russian": (
        "Все люди рождаются свободными и равными в своём достоинстве и правах. Ошибка при чтении файла.\n"
    ),
    "ukrainian": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Її їжа є смачна.\n",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.\n",
    "turkish": (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. İstanbul'da ışık güçlüydü.\n"
    ),
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.\n",
    "arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.\n",
    "lithuanian": "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Ąžuolas čia žydi šiandien.\n",
    "thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ\n",
    "japanese": (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。設定ファイル\n"
    ),
    "chinese": "人人生而自由,在尊严和权利上一律平等。无法读取配置文件,请检查路径是否正确。\n",
    "traditional": "人人生而自由,在尊嚴和權利上一律平等。無法讀取設定檔,請檢查路徑是否正確。\n",
    "korean": (
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 설정 파일을 읽을 수 없습니다.\n"
    ),
}
"""By language, one line each."""

LEGACY = [
    ("english", "cp1252"),
    ("german", "latin-1"),
    ("french", "latin-1"),
    ("spanish", "cp1252"),
    ("czech", "iso-8859-2"),
    ("polish", "iso-8859-2"),
    ("hungarian", "cp1250"),
    ("polish", "cp1250"),
    ("russian", "cp1251"),
    ("russian", "koi8-r"),
    ("russian", "iso-8859-5"),
    ("russian", "cp866"),
    ("ukrainian", "cp1251"),
    ("ukrainian", "koi8-u"),
    ("greek", "cp1253"),
    ("greek", "iso-8859-7"),
    ("turkish", "cp1254"),
    ("turkish", "iso-8859-9"),
    ("hebrew", "cp1255"),
    ("arabic", "cp1256"),
    ("lithuanian", "cp1257"),
    ("thai", "cp874"),
    ("japanese", "shift_jis"),
    ("japanese", "cp932"),
    ("japanese", "euc_jp"),
    ("chinese", "gbk"),
    ("chinese", "gb18030"),
    ("chinese", "gb2312"),
    ("traditional", "big5"),
    ("korean", "euc_kr"),
    ("korean", "cp949"),
]
"""Languages and the encodings their files were kept in before UTF-8."""

SOURCE = "def load(path):\n    # {}\n    with open(path) as handle:\n        return handle.read()\n"
"""Program text with a comment in some language: mostly ASCII, as in real projects."""
