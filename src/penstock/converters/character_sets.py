"""The character sets that both Java and Python know, by the names that Java knows them by."""

from __future__ import annotations

_TABLE = """
big5 csbig5
big5hkscs big5-hkscs big5_hkscs big5hk
euc_jp euc-jp extended_unix_code_packed_format_for_japanese cseucpkdfmtjapanese eucjis eucjp x-euc-jp x-eucjp
euc_kr euc-kr 5601 cseuckr euckr ks_c_5601-1987 ksc5601 ksc5601-1987 ksc5601_1987 ksc_5601
gb18030 gb18030-2022
gb2312 euc_cn euc-cn euccn gb2312-1980 gb2312-80 x-euc-cn
gbk cp936 windows-936
cp858 ibm00858 858 pc-multilingual-850+euro ccsid00858 cp00858 ibm-858 ibm858
cp1140 ibm01140 1140 ccsid01140 cp01140 ebcdic-us-037+euro ibm-1140 ibm1140
cp037 ibm037 037 cpibm37 cs-ebcdic-cp-ca cs-ebcdic-cp-nl cs-ebcdic-cp-us cs-ebcdic-cp-wt csibm037 ebcdic-cp-ca
  ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm-037 ibm-37
cp1026 ibm1026 1026 ibm-1026
cp273 ibm273 273 ibm-273
cp424 ibm424 424 csibm424 ebcdic-cp-he ibm-424
cp437 ibm437 437 cspc8codepage437 ibm-437 windows-437
cp500 ibm500 500 csibm500 ebcdic-cp-bh ebcdic-cp-ch ibm-500
cp775 ibm775 775 ibm-775
cp850 ibm850 850 cspc850multilingual ibm-850
cp852 ibm852 852 cspcp852 ibm-852
cp855 ibm855 855 cspcp855 ibm-855
cp857 ibm857 857 csibm857 ibm-857
cp860 ibm860 860 csibm860 ibm-860
cp861 ibm861 861 cp-is csibm861 ibm-861
cp862 ibm862 862 csibm862 cspc862latinhebrew ibm-862
cp863 ibm863 863 csibm863 ibm-863
cp864 ibm864 864 csibm864 ibm-864
cp865 ibm865 865 csibm865 ibm-865
cp866 ibm866 866 csibm866 ibm-866
cp869 ibm869 869 cp-gr csibm869 ibm-869
iso2022_jp! iso-2022-jp csiso2022jp csjisencoding iso2022jp jis jis_encoding
iso2022_jp_2! iso-2022-jp-2 csiso2022jp2 iso2022jp2
iso2022_kr! iso-2022-kr iso2022kr csiso2022kr
iso8859-1 iso-8859-1 819 8859_1 ibm-819 ibm819 iso8859_1 iso_8859-1 iso_8859-1:1987 iso_8859_1 cp819 csisolatin1
  iso-ir-100 l1 latin1
iso8859-13 iso-8859-13 8859_13 iso8859_13 iso_8859-13
iso8859-15 iso-8859-15 8859_15 923 ibm-923 ibm923 iso8859_15 iso8859_15_fdis iso_8859-15 l9 latin0 latin9 latin-9
  cp923 csiso885915 csisolatin0 csisolatin9
iso8859-16! iso-8859-16 iso8859_16 iso_8859-16 iso_8859-16:2001 csiso885916 iso-ir-226 l10 latin10
iso8859-2 iso-8859-2 8859_2 912 iso_8859-2 iso_8859-2:1987 cp912 csisolatin2 ibm-912 ibm912 iso-ir-101 iso8859_2 l2
  latin2
iso8859-3 iso-8859-3 8859_3 913 iso_8859-3 iso_8859-3:1988 cp913 csisolatin3 ibm-913 ibm913 iso-ir-109 iso8859_3 l3
  latin3
iso8859-4 iso-8859-4 8859_4 914 iso_8859-4 iso_8859-4:1988 cp914 csisolatin4 ibm-914 ibm914 iso-ir-110 iso8859_4 l4
  latin4
iso8859-5 iso-8859-5 8859_5 915 iso_8859-5 iso_8859-5:1988 cp915 csisolatincyrillic cyrillic ibm-915 ibm915
  iso-ir-144 iso8859_5
iso8859-6 iso-8859-6 1089 8859_6 asmo-708 ecma-114 iso_8859-6 iso_8859-6:1987 arabic cp1089 csisolatinarabic
  ibm-1089 ibm1089 iso-ir-127 iso8859_6
iso8859-7 iso-8859-7 813 8859_7 ecma-118 elot_928 iso_8859-7 iso_8859-7:1987 cp813 csisolatingreek greek greek8
  ibm-813 ibm813 iso-ir-126 iso8859_7 sun_eu_greek
iso8859-8 iso-8859-8 8859_8 916 iso_8859-8 iso_8859-8:1988 cp916 csisolatinhebrew hebrew ibm-916 ibm916 iso-ir-138
  iso8859_8
iso8859-9 iso-8859-9 8859_9 920 iso_8859-9 iso_8859-9:1989 cp920 csisolatin5 ibm-920 ibm920 iso-ir-148 iso8859_9 l5
  latin5
koi8-r cskoi8r koi8 koi8_r
koi8-u koi8_u
shift_jis csshiftjis ms_kanji shift-jis sjis x-sjis
tis-620 tis620 tis620.2533
ascii us-ascii 646 ansi_x3.4-1968 ansi_x3.4-1986 ibm367 iso646-us iso_646.irv:1991 ascii7 cp367 csascii iso-ir-6
  iso_646.irv:1983 us
utf-16 utf_16 unicodebig unicode utf16
utf-16-be! utf-16be iso-10646-ucs-2 utf_16be unicodebigunmarked x-utf-16be
utf-16-le! utf-16le utf_16le unicodelittleunmarked x-utf-16le
utf-32 utf32 utf_32
utf-32-be! utf-32be utf_32be x-utf-32be
utf-32-le! utf-32le utf_32le x-utf-32le
utf-8 utf8 unicode-1-1-utf-8
cp1250 windows-1250 cp5346
cp1251 windows-1251 ansi-1251 cp5347
cp1252 windows-1252 cp5348 ibm-1252 ibm1252
cp1253 windows-1253 cp5349
cp1254 windows-1254 cp5350
cp1255 windows-1255
cp1256 windows-1256
cp1257 windows-1257 cp5353
cp1258 windows-1258
cp932! windows-31j ms932 cswindows31j windows-932
cp1006 x-ibm1006 1006 ibm-1006 ibm1006
cp737 x-ibm737 737 ibm-737 ibm737
cp856 x-ibm856 856 ibm-856 ibm856
cp874 x-ibm874 874 ibm-874 ibm874
cp875 x-ibm875 875 ibm-875 ibm875
cp932 x-ibm942c 932 942c cp942c ibm-932 ibm-942c ibm932 ibm942c x-ibm932
cp949 x-ibm949 949 ibm-949 ibm949
cp950 x-ibm950 950 ibm-950 ibm950
iso8859-11! x-iso-8859-11 iso-8859-11 iso8859_11
johab x-johab ksc5601-1992 ksc5601_1992 ms1361
mac-latin2! x-maccentraleurope maccentraleurope
mac-cyrillic! x-maccyrillic maccyrillic
mac-greek! x-macgreek macgreek
mac-iceland! x-maciceland maciceland
mac-roman! x-macroman macroman
mac-turkish! x-macturkish macturkish
gbk! x-mswin-936 ms936 ms_936
shift_jis_2004! x-sjis_0213 shift_jis:2004 shift_jis_0213:2004 sjis-0213 sjis:2004 sjis_0213 sjis_0213:2004
cp949! x-windows-949 ms949 ms_949 windows-949 windows949
cp950! x-windows-950 ms950 windows-950
"""
"""Python's name first (with a mark when Java does not know it), then the rest of Java's."""


def _names() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _TABLE.replace("\n  ", " ").split("\n"):
        first, *rest = line.split() or [""]
        codec = first.removesuffix("!")
        found |= dict.fromkeys([*rest] if first.endswith("!") else [first, *rest], codec)
    found.pop("", None)
    return found


_CODECS = _names()


def codec_of(name: str) -> str | None:
    """Python's name of a character set of Java's; ``None`` when there is none of this name."""
    return _CODECS.get(name.lower())
