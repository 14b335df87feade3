#!/usr/bin/env python3
"""Converts arrays, pictures and sounds to each picture and sound format, and judges them by reference libraries.

    media_judge.py BINARY FOLDER... [--to LIST] [--most BYTES] [--nodes N]

Each array, picture and sound in the files below the folders is a source. `BINARY convert` writes it in each format and,
for its values, as npy. What was written is read by Pillow (16-bit PNG by imagecodecs: Pillow cuts it to 8 bits),
tifffile, OpenEXR or soundfile, and the formats of Netpbm, which Pillow knows only in part, by read_back.py. It must
have the type, the shape and the values of the source. Where the loss report names a change (fewer bits, floats that are
scaled, no alpha, one frame of many) the values are changed in the same way first; another change is a mismatch. Of JPEG
and AVIF the shape must be equal, and the mean absolute difference at most NEAR of 255, or AS_NEAR times that of the
file that Pillow writes of the same pixels.

A pair that is refused with a sentence is counted apart. What cannot be read back or differs is a mismatch, which is
printed with its place. What happens to many sources in the same way and is not said (NaN that becomes zero, a file that
is written though the exit status says that it was not) is printed once for a format, with the first source; such pairs
are judged nevertheless. Exit status 1 if there is a mismatch or something that is not said.
"""

import argparse
import collections
import io
import json
import math
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has none
    resource = None

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

warnings.filterwarnings("ignore")
Image.MAX_IMAGE_PIXELS = None

PICTURES = ["png", "jpeg", "webp", "tiff", "bmp", "ppm", "pgm", "pam", "pfm", "exr", "avif"]
SOUNDS = ["wav", "flac"]
IMAGE_SIDES = ["frames", "height", "width", "channels"]
# Pictures with samples of 16 bits.
DEEP = {"png", "tiff", "ppm", "pgm", "pam", "avif"}
# The mean absolute difference that a lossy format may have, of samples from 0 to 255, or so many times that of Pillow.
NEAR, AS_NEAR = 6.0, 2.0
# How Pillow writes the lossy formats: as libjpeg counts quality; at what libavif has about the size of ravif's 80.
LOSSY = {"jpeg": {"quality": 90, "subsampling": 0}, "avif": {"quality": 60, "subsampling": "4:4:4"}}
# Texts and programs that lie beside the files.
SKIPPED = {".py", ".txt", ".sh", ".md"}
# Linear samples of whole numbers, whose bits in the file are those of the values.
LINEAR = re.compile(r"pcm_[suf]\d+([lb]e)?|flac|alac")
TIMEOUT = 60
# Bytes of memory (of addresses) that a conversion gets: one that takes more is to fail, not the machine.
MEMORY = 4 << 30
# Values of a source at most: a picture of one colour takes few bytes in its file.
VALUES = 1 << 24

Reply = collections.namedtuple("Reply", "code report words")
Node = collections.namedtuple("Node", "path kind channels rate full")


class Mismatch(Exception):
    """What is wrong with a pair."""


# ---------------------------------------------------------------- the program


def bounded():
    """Bounds the memory of the process that is about to start."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(*command):
    """Runs the program: its exit status, the JSON that it printed, and what it said."""
    try:
        before = bounded if resource else None
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL, preexec_fn=before
        )
    except subprocess.TimeoutExpired:
        return Reply(None, None, f"not done after {TIMEOUT} s")
    out, words = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace").strip()
    try:
        return Reply(done.returncode, json.loads(out) if out.strip() else None, words)
    except ValueError:
        return Reply(done.returncode, None, f"no JSON: {out[:200]!r} {words[-200:]}")


def convert(binary, source, out, to, *more):
    return run(binary, "convert", source, str(out), "--to", to, "--allow-loss", "--json", *more)


def refusal(reply):
    """The sentence with which something was refused; `None` if it was written.

    Raises `Mismatch` for an end without a sentence and for faults of the program.
    """
    if reply.code == 0 and reply.report is not None:
        return None
    error = (reply.report or {}).get("error") or {}
    sentence = error.get("message", "").strip()
    if reply.code not in (1, 2) or not sentence or error.get("kind") == "bug":
        raise Mismatch(f"ended with status {reply.code}: {sentence or reply.words[:200] or 'without a word'}")
    return sentence


def writers(binary):
    """The formats of pictures and sounds that the program writes, in the order of this file."""
    listed = run(binary, "convert", "--list", "--json").report or []
    known = {writer["id"] for writer in listed}
    return [name for name in PICTURES + SOUNDS if name in known]


def nodes(binary, path):
    """The arrays, pictures and sounds of at most VALUES values in a file; none in one that cannot be opened."""
    tree = run(binary, "tree", str(path), "--json").report or {}

    def walk(node):
        if node.get("kind") in ("array", "image", "audio") and not node.get("problem"):
            image, audio = node.get("image", {}), node.get("audio", {})
            sides = node.get("array", {}).get("shape") or [image.get(of, 1) for of in IMAGE_SIDES]
            full = audio.get("bits") if LINEAR.fullmatch(audio.get("codec", "")) else None
            if math.prod(side or 1 for side in sides) <= VALUES:
                yield Node(node["path"], node["kind"], image.get("channels"), audio.get("rate"), full)
        for child in node.get("children", []):
            yield from walk(child)

    return list(walk(tree["root"])) if "root" in tree else []


# ---------------------------------------------------------------- what the loss report says


class Report:
    """The loss report of a conversion, from which words are taken, and what should stand in it and does not."""

    def __init__(self, losses):
        self.words = [loss["message"] for loss in losses]
        self.unsaid = []

    def finds(self, pattern):
        """The match of the first message that fits a pattern."""
        return next((found for words in self.words if (found := re.search(pattern, words))), None)

    def number(self, pattern):
        found = self.finds(pattern)
        return int(found[1]) if found else None


def unsigned(values):
    """Whole numbers as unsigned ones of the same width: of signed ones the lowest becomes 0."""
    if values.dtype.kind != "i":
        return values
    kind = np.dtype(f"u{values.dtype.itemsize}")
    return values.view(kind) ^ kind.type(1 << (8 * kind.itemsize - 1))


def of_bits(values, bits):
    """Whole numbers with the highest bits of theirs, or with all of them spread over more."""
    values, kind = unsigned(values), np.dtype(f"u{bits // 8}")
    own = 8 * values.dtype.itemsize
    if own >= bits:
        return (values >> values.dtype.type(own - bits)).astype(kind)
    return values.astype(kind) * kind.type((2**bits - 1) // (2**own - 1))


def scaled(values, least, most, report):
    """Floats as steps that need not be whole yet: `most` for 1, cut at `least` and `most`."""
    values = values.astype(np.float64)
    if np.isnan(values).any() and not report.finds("NaN"):
        report.unsaid.append("NaN becomes zero")
    return np.where(np.isnan(values), 0.0, values).clip(least, most)


def sample_change(values, to, report):
    """Samples of a picture as the report says that they are written, and the type to which they are to be rounded."""
    bits = report.number(r"^float samples become (\d+)-bit ones: 0 to 1 is scaled, the rest cut")
    bits = bits or report.number(r"values, of which 0 to 1 is scaled to (\d+) bits, the rest cut")
    if report.finds("complex samples become their absolute values"):
        values = np.abs(values.astype(np.complex128))
        if not report.finds("0 to 1 is scaled"):
            report.unsaid.append("absolute values of complex samples are scaled from 0 to 1, and the rest is cut")
            bits = 16 if to in DEEP else 8
    if bits:
        return scaled(values, 0.0, 1.0, report) * (2**bits - 1), np.dtype(f"u{bits // 8}")
    if bits := report.number(r"^signed samples become unsigned (\d+)-bit ones"):
        return of_bits(values, bits), None
    if bits := report.number(r"^u?int\d+ samples become (\d+)-bit ones"):
        if values.dtype.kind == "i":
            report.unsaid.append("signed samples become unsigned: zero becomes grey")
        return of_bits(values, bits), None
    if kind := report.finds(r"samples become (float\d+) ones"):
        with np.errstate(over="ignore"):
            return values.astype(kind[1]), None
    return values, None


def frames_of(values, node):
    """Values as frames × height × width × channels, channels being the last dimension if it is up to 4."""
    if node.kind == "image":
        has_channels = node.channels > 1
    else:
        has_channels = values.ndim > 2 and 1 <= values.shape[-1] <= 4
    values = values if has_channels else values[..., None]
    return values.reshape(-1, *values.shape[-3:]) if values.ndim >= 3 else None


def picture_change(values, node, to, report):
    """The frames that are to be found in a picture, and the type to which they are to be rounded."""
    frames = frames_of(values, node)
    if frames is None:
        raise Mismatch(f"a picture was made of an array of shape {values.shape}")
    if report.finds("one frame of .* is written"):
        frames = frames[:1]
    frames, kind = sample_change(frames, to, report)
    channels = frames.shape[-1]
    if report.finds("no alpha: it is left out"):
        frames = frames[..., : channels - 1]
    if report.finds("grey becomes red, green and blue"):
        frames = np.concatenate([frames[..., :1].repeat(3, -1), frames[..., 1:]], -1)
    return frames, kind


# ---------------------------------------------------------------- pictures


def read_pillow(path):
    """The pixels of a picture, grey or colours, with and without alpha, as the file says."""
    with Image.open(path) as image:
        image.load()
        if image.mode not in ("L", "LA", "RGB", "RGBA", "I", "I;16", "I;16B"):
            raise Mismatch(f"Pillow reads it as {image.mode}")
        return np.asarray(image)


def read_png(path):
    data = path.read_bytes()
    pixels = read_pillow(path)
    if data[24] <= 8:
        return pixels
    import imagecodecs

    return imagecodecs.png_decode(data)


def read_netpbm(path):
    """The samples of a PPM, PGM, PAM or PFM; of the first two Pillow must read as much."""
    import read_back

    values = read_back.netpbm(path)
    if values is None:
        raise Mismatch("no Netpbm with samples of 8, 16 or 32 bits")
    if path.suffix in (".ppm", ".pgm") and read_pillow(path).shape[:2] != values.shape[:2]:
        raise Mismatch("Pillow reads another size")
    return values.astype(values.dtype.newbyteorder("="))


def read_tiff(path):
    """All pages."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        shape = lambda page: (page.imagelength, page.imagewidth, page.samplesperpixel)
        return np.stack([page.asarray().reshape(shape(page)) for page in file.pages])


def read_exr(path):
    import OpenEXR

    channels = OpenEXR.File(str(path), separate_channels=True).channels()
    names = [name for name in ("Y", "R", "G", "B", "A") if name in channels]
    if len(names) != len(channels):
        raise Mismatch(f"channels {', '.join(sorted(channels))}")
    return np.stack([channels[name].pixels for name in names], axis=-1)


PICTURE_READERS = {
    "png": read_png,
    "tiff": read_tiff,
    "exr": read_exr,
    **dict.fromkeys(["ppm", "pgm", "pam", "pfm"], read_netpbm),
}


def read_picture(path, to):
    """Frames × height × width × channels."""
    pixels = PICTURE_READERS.get(to, read_pillow)(path)
    if to != "tiff":
        pixels = pixels[None]
    return pixels[..., None] if pixels.ndim == 3 else pixels


def judge_picture(out, to, values, node, report):
    wanted, kind = picture_change(values, node, to, report)
    got = read_picture(out, to)
    if wanted.shape != got.shape:
        raise Mismatch(f"frames × height × width × channels are {got.shape}, not {wanted.shape}")
    if to in LOSSY:
        judge_near(to, wanted, got, kind)
    else:
        judge_equal(wanted, got, kind, ("frame", "y", "x", "channel"))


def judge_near(to, wanted, got, kind):
    """The mean absolute difference, with all samples from 0 to 255."""
    if got.dtype != np.uint8:
        raise Mismatch(f"{got.dtype}, not uint8")
    wanted = wanted.astype(np.float64) * (255 / np.iinfo(kind or wanted.dtype).max)
    apart = np.abs(wanted - got).mean()
    bound = max(NEAR, AS_NEAR * by_pillow(to, wanted[0])) if apart > NEAR else NEAR
    if apart > bound:
        channels = ", ".join(f"{mean:.1f}" for mean in np.abs(wanted - got).mean(axis=(0, 1, 2)))
        raise Mismatch(f"{apart:.1f} of 255 off on average ({channels} in the channels), the bound is {bound:.1f}")


def by_pillow(to, frame):
    """The mean absolute difference of what Pillow writes of the same pixels."""
    file, pixels = io.BytesIO(), frame.round().astype(np.uint8)
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(file, to, **LOSSY[to])
    with Image.open(file) as image:
        return np.abs(frame - np.asarray(image).reshape(frame.shape)).mean()


def judge_equal(wanted, got, kind, names):
    """Equal types and values; where `kind` is given `wanted` has fractions of steps, and the nearest step is right."""
    got = got.astype(got.dtype.newbyteorder("="))
    kind = np.dtype(kind or wanted.dtype).newbyteorder("=")
    if got.dtype != kind:
        raise Mismatch(f"{got.dtype}, not {kind}")
    if kind == wanted.dtype.newbyteorder("="):
        is_same = wanted == got
        if kind.kind in "fc":
            is_same |= np.isnan(wanted) & np.isnan(got)
    else:
        # A tie may go either way; a little more than half a step, for the noise of the calculation.
        is_same = np.abs(got.astype(np.float64) - wanted) <= 0.5 + 1e-6
    if not is_same.all():
        places = np.argwhere(~is_same)
        at = tuple(places[0])
        place = ", ".join(f"{name} {n}" for name, n in zip(names, at))
        raise Mismatch(f"{len(places)} of {is_same.size} values, first {place}: {got[at]}, the source has {wanted[at]}")


# ---------------------------------------------------------------- sounds


def sound_change(values, node, to, report):
    """The samples that are to be found in a sound, and the type to which they are to be rounded: numbers as they are
    stored, but for unsigned bytes, which stand about 0 as soundfile gives them."""
    frames = values if values.ndim == 2 else values[:, None]
    if bits := report.number(r"samples become (\d+)-bit ones: -1 to 1 is scaled, the rest cut"):
        step = 2.0 ** (bits - 1)
        # The highest number is a step below 1.
        return scaled(frames, -1.0, (step - 1) / step, report) * step, np.dtype(np.int32)
    if kind := report.finds(r"samples become (float\d+) ones of the same numbers"):
        return frames.astype(kind[1]), None
    if frames.dtype.kind == "f":
        return frames, None
    if frames.dtype == np.uint8:
        is_told = to == "wav" or report.finds("unsigned bytes become signed samples .*: 128 becomes 0")
        frames = frames.astype(np.int32) - (128 if is_told else 0)
    frames = frames.astype(np.int32)
    if cut := report.number(r"the lowest (\d+) bits of the samples are not kept"):
        frames = frames >> cut
    return frames, None


def judge_sound(out, to, values, node, report):
    import soundfile

    if values.ndim not in (1, 2):
        raise Mismatch(f"a sound was made of an array of shape {values.shape}")
    wanted, kind = sound_change(values, node, to, report)
    told = report.number(r"becomes a sound of (\d+) frames a second")
    rate = told or report.number(r"frames a second, (\d+) are written") or node.rate
    with soundfile.SoundFile(out) as sound:
        if sound.samplerate != rate:
            raise Mismatch(f"{sound.samplerate} frames a second, not {rate}")
        width = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}.get(sound.subtype)
        dtype = "int32" if width else {"FLOAT": "float32", "DOUBLE": "float64"}.get(sound.subtype)
        if dtype is None:
            raise Mismatch(f"samples of type {sound.subtype}")
        # Whole numbers lie at the upper end of 32 bits, whatever their width.
        got = sound.read(dtype=dtype, always_2d=True)
        got = got >> (32 - width) if width else got
    if wanted.shape != got.shape:
        raise Mismatch(f"frames × channels are {got.shape}, not {wanted.shape}")
    judge_width(values, node, to, width, report)
    judge_equal(wanted, got, kind, ("frame", "channel"))


def judge_width(values, node, to, width, report):
    """Whether whole samples have the bits that the source has, or the report says which others."""
    told = report.number(r"of \d+ bits are written as the same numbers of (\d+) bits")
    told = told or report.number(r"become samples of (\d+) bits") or report.number(r"are not kept: (\d+) are written")
    told = told or report.number(r"become signed samples of (\d+) bits") or report.number(r"become (\d+)-bit ones")
    own = 8 * values.dtype.itemsize
    # A file of whole bytes a sample holds 12 and 20 bits in 16 and 24.
    wanted = told or min(-(-(node.full or own) // 8) * 8, own)
    if width and width != wanted:
        raise Mismatch(f"samples of {width} bits, not {wanted}")


# ---------------------------------------------------------------- all


class Judge:
    """Converts sources, and counts what comes of it."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        # Pairs by format and outcome; sentences of refusals; those for sources that have no values.
        self.counts, self.sentences, self.mute = (collections.Counter() for _ in range(3))
        # How often something was not said, by format and what, and the command that showed it first.
        self.unsaid, self.shown = collections.Counter(), {}

    def values(self, path, source):
        """The values of a source; `None`, with the sentence counted, where it cannot be an array of NumPy."""
        out = self.folder / "values.npy"
        try:
            sentence = refusal(convert(self.binary, source, out, "npy"))
            if not sentence:
                return np.load(out)
            self.mute[pattern_of(sentence)] += 1
        except Exception as error:  # whatever NumPy throws is a finding, but where it cannot read the source either
            if isinstance(error, Mismatch) or path.suffix != ".npy" or can_load(path):
                self.wrong(source, "npy", f"{type(error).__name__}: {error}")
            else:
                self.mute[pattern_of(f"NumPy: {error}")] += 1
        finally:
            out.unlink(missing_ok=True)
        return None

    def command(self, source, to, more=()):
        """The command that makes a file, for people."""
        return shlex.join([self.binary, "convert", source, f"out.{to}", "--to", to, "--allow-loss", "--json", *more])

    def wrong(self, source, to, what, more=()):
        self.counts[to, "different"] += 1
        print(f"different: {source} as {to}: {what}\n    {self.command(source, to, more)}", flush=True)

    def silent(self, source, to, what):
        """Counts something that was not said."""
        self.unsaid[to, what] += 1
        self.shown.setdefault((to, what), self.command(source, to))

    def converted(self, source, out, to):
        """The reply to a conversion, the sentence if it was refused, and what was added to the command.

        A file that is there although it was refused is taken away and made again, without a look at what was written.
        """
        reply = convert(self.binary, source, out, to)
        sentence = refusal(reply)
        if not sentence or not out.exists():
            return reply, sentence, ()
        self.silent(source, to, f"the file is written, though the exit status says that it failed: {sentence}")
        out.unlink()
        reply = convert(self.binary, source, out, to, "--no-verify")
        return reply, refusal(reply), ("--no-verify",)

    def pair(self, source, node, values, to):
        """Converts one source to one format and counts what comes of it."""
        out, more = self.folder / f"out.{to}", ()
        self.counts[to, "pairs"] += 1
        try:
            reply, sentence, more = self.converted(source, out, to)
            if sentence:
                self.counts[to, "refused"] += 1
                self.sentences[to, pattern_of(sentence)] += 1
                return
            report = Report(reply.report["losses"])
            try:
                (judge_picture if to in PICTURES else judge_sound)(out, to, values, node, report)
            finally:
                for what in report.unsaid:
                    self.silent(source, to, what)
            self.counts[to, "equal"] += 1
        except Mismatch as found:
            self.wrong(source, to, str(found), more)
        except Exception as error:  # whatever a library throws is a finding about the file
            self.wrong(source, to, f"cannot be read back: {type(error).__name__}: {str(error)[:300]}", more)
        finally:
            out.unlink(missing_ok=True)

    def file(self, path, targets, most):
        """All pairs of the first `most` sources in a file."""
        for node in nodes(self.binary, path)[:most]:
            source = f"{path}#{node.path}" if node.path else str(path)
            values = self.values(path, source)
            if values is not None:
                for to in targets:
                    self.pair(source, node, values, to)

    def told(self, targets):
        """Prints what was refused, what was not said and the counts: how many mismatches there are."""
        for (to, sentence), count in sorted(self.sentences.items()):
            print(f"refused {count} times: {to}: {sentence}")
        for sentence, count in sorted(self.mute.items()):
            print(f"no values of {count} sources: {sentence}")
        for (to, what), count in sorted(self.unsaid.items()):
            print(f"not said {count} times: {to}: {what}\n    {self.shown[to, what]}")
        words = ("pairs", "equal", "refused", "different")
        for to in [*targets, "npy"]:
            if any(self.counts[to, word] for word in words):
                print(f"{to}: " + ", ".join(f"{self.counts[to, word]} {word}" for word in words))
        total = {word: sum(n for (_, of), n in self.counts.items() if of == word) for word in words}
        print("all: " + ", ".join(f"{total[word]} {word}" for word in words) + f", {len(self.unsaid)} not said")
        return total["different"] + len(self.unsaid)


def can_load(path):
    """Whether NumPy reads a file."""
    try:
        np.load(path)
    except Exception:  # of whatever kind
        return False
    return True


def pattern_of(sentence):
    """A sentence without its numbers and types, so that the like are counted together."""
    sentence = re.sub(r"\[[\d, ]*\]", "[…]", sentence)
    sentence = re.sub(r"\b(u?int|float|complex|bfloat)\d+ of shape", "… of shape", sentence)
    return re.sub(r"\b\d+\b", "N", sentence)[:200]


def files_of(folder):
    """The files below a folder, without the texts and programs beside them; a file alone is itself."""
    found = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    return [path for path in found if path.is_file() and path.suffix not in SKIPPED]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--to", help="formats, with commas between; default all that are known here and written")
    parser.add_argument("--most", type=int, default=1 << 20, help="bytes of a file at most; default 1 MiB")
    parser.add_argument("--nodes", type=int, default=4, help="sources in a file at most; default 4")
    options = parser.parse_args()
    known = writers(options.binary)
    targets = options.to.split(",") if options.to else known
    if not known or set(targets) - set(known):
        parser.error(f"written and known here: {', '.join(known) or 'nothing'}")
    files = [path for folder in options.folders for path in files_of(folder) if path.stat().st_size <= options.most]
    with tempfile.TemporaryDirectory(prefix="media_judge") as folder:
        judge = Judge(options.binary, Path(folder))
        for path in files:
            judge.file(path, targets, options.nodes)
        return 1 if judge.told(targets) else 0


if __name__ == "__main__":
    sys.exit(main())
