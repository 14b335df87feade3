"""Makes the fonts of the window: subsets of Inter, JetBrains Mono and Phosphor.

    npm pack @expo-google-fonts/inter@0.4.2 @expo-google-fonts/jetbrains-mono@0.4.1 \
             @phosphor-icons/web@2.1.2        # then unpack each beside the others
    pip install fonttools
    python3 assets/make_fonts.py DIRECTORY    # the one that holds the three unpacked packages

A directory is expected to hold `inter/`, `jetbrains-mono/` and `phosphor/`, each with the
`package/` folder of its archive. The icons kept are those that `src/app/gui/icons.rs` names.
"""

import re
import shutil
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

HERE = Path(__file__).resolve().parent
ICONS = HERE.parent / "src" / "app" / "gui" / "icons.rs"

# Latin to Latin Extended-B, spacing modifiers and combining marks, Greek, Cyrillic, Latin
# Extended Additional, punctuation, super- and subscripts, currency, letter-like signs, number
# forms, arrows, mathematical operators, technical signs, boxes, blocks and geometric shapes.
TEXT = [(0x20, 0x24F), (0x2B0, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x1E00, 0x1EFF),
        (0x2000, 0x206F), (0x2070, 0x209F), (0x20A0, 0x20BF), (0x2100, 0x218F), (0x2190, 0x21FF),
        (0x2200, 0x22FF), (0x2300, 0x23FF), (0x2500, 0x25FF), (0xFFFD, 0xFFFD)]


def characters(ranges):
    return [code for first, last in ranges for code in range(first, last + 1)]


def tabular_figures(font):
    """Let the digits be the tabular ones: the window lays text out without font features."""
    gsub = font["GSUB"].table
    swaps = {}
    for record in gsub.FeatureList.FeatureRecord:
        if record.FeatureTag == "tnum":
            for index in record.Feature.LookupListIndex:
                for table in gsub.LookupList.Lookup[index].SubTable:
                    swaps.update(getattr(getattr(table, "ExtSubTable", table), "mapping", {}))
    for table in font["cmap"].tables:
        for code in range(ord("0"), ord("9") + 1):
            if code in table.cmap:
                table.cmap[code] = swaps.get(table.cmap[code], table.cmap[code])


def make(source, target, codes, tabular=False):
    options = subset.Options()
    # Ligatures would show other characters than the file holds; only kerning stays.
    options.layout_features = ["kern", "mark", "mkmk"]
    options.hinting = False
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]
    font = TTFont(source)
    if tabular:
        tabular_figures(font)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    font.save(target)
    print(f"{target.relative_to(HERE)}: {target.stat().st_size:,} bytes, {len(font.getBestCmap())} characters")


def main():
    packages = Path(sys.argv[1])
    inter, mono, phosphor = (packages / name / "package" for name in ("inter", "jetbrains-mono", "phosphor"))
    fonts, icons = HERE / "fonts", HERE / "icons"
    text = characters(TEXT)
    make(inter / "400Regular/Inter_400Regular.ttf", fonts / "Inter-Regular.ttf", text, tabular=True)
    make(inter / "600SemiBold/Inter_600SemiBold.ttf", fonts / "Inter-SemiBold.ttf", text, tabular=True)
    make(inter / "400Regular_Italic/Inter_400Regular_Italic.ttf", fonts / "Inter-Italic.ttf", text, tabular=True)
    make(mono / "400Regular/JetBrainsMono_400Regular.ttf", fonts / "JetBrainsMono-Regular.ttf", text)
    shutil.copy(inter / "LICENSE_FONT", fonts / "Inter-LICENSE.txt")
    shutil.copy(mono / "LICENSE_FONT", fonts / "JetBrainsMono-LICENSE.txt")
    shutil.copy(phosphor / "LICENSE", icons / "Phosphor-LICENSE.txt")

    # Every icon in icons.rs is written as: Variant = "css-name" 'code point'
    css = (phosphor / "src/regular/style.css").read_text()
    glyphs = dict(re.findall(r'\.ph\.ph-([a-z0-9-]+):before \{\s*content: "\\([0-9a-f]+)"', css))
    named = re.findall(r'= "([a-z0-9-]+)" \'\\u\{([0-9a-f]+)\}\'', ICONS.read_text())
    wrong = [(name, code, glyphs.get(name)) for name, code in named if glyphs.get(name) != code]
    if wrong or not named:
        sys.exit(f"icons.rs disagrees with the style sheet (name, written, true): {wrong}")
    make(phosphor / "src/regular/Phosphor.ttf", icons / "Phosphor.ttf", [int(code, 16) for _, code in named])


main()
