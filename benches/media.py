#!/usr/bin/env python3
"""Measures pictures, sounds, videos and slices beside pyvips, ffmpeg, librosa, PyAV and pydicom, in one run, turn by turn.

    media.py [--gander …] [--data benches/data] [--only picture,sound,video,dicom] [--repeat 5] [--out benches/README.md]

It makes what it reads first (about 4 GB; what is there stays). measure.py says how things are measured. Gander's times
inside the process are those of the library (`cargo bench --bench one --no-run` builds the program that takes them). Where
several places are visited the time is that of one.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from measure import Case, main, peer, program

SIDE = 30_000
RATE = 48_000
PLACE = "def place(n, end): return (n * 2654435761) % end\n"
# The time of one of so many.
EACH = "\nb = time.perf_counter()\n_t = b - (b - _t) / {}"


def texture():
    """3,000 x 3,000 pixels: waves with noise, so that compression has something to do."""
    y, x = np.mgrid[0:3000, 0:3000]
    waves = np.stack([np.sin(x / 40) * np.cos(y / 60), np.sin((x + y) / 90), np.cos(x / 25) * np.sin(y / 35)], axis=-1)
    noise = np.random.default_rng(1).normal(0, 4, waves.shape)
    return (128 + 80 * waves + noise).clip(0, 255).astype(np.uint8)


def tiff(path, **options):
    import pyvips

    part = pyvips.Image.new_from_array(texture())
    whole = part.replicate(SIDE // part.width, SIDE // part.height)
    whole.tiffsave(str(path), tile=True, tile_width=256, tile_height=256, bigtiff=True, **options)


def tones(seconds, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(seconds * RATE) / RATE
    sides = [np.sin(2 * np.pi * pitch * t) * 0.3 * (1 + np.sin(2 * np.pi * t / 7)) for pitch in (220 + seed, 331)]
    return (np.stack(sides, axis=-1) + rng.normal(0, 0.01, (t.size, 2))).clip(-1, 1).astype(np.float32)


def flac(path):
    import soundfile

    with soundfile.SoundFile(path, "w", RATE, 2, "PCM_16", format="FLAC") as file:
        for minute in range(60):
            file.write(tones(60, minute))


def wav(path):
    import soundfile

    soundfile.write(path, tones(60, 0), RATE, "PCM_16", format="WAV")


def mp4(path):
    made = ["-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30:duration=60", "-c:v", "libx264", "-g", "60", "-pix_fmt", "yuv420p"]
    subprocess.run(["ffmpeg", "-v", "error", "-y", *made, "-f", "mp4", path], check=True)


def slices(path):
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

    path.mkdir()
    rng = np.random.default_rng(2)
    for n in range(500):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.TransferSyntaxUID = CTImageStorage, ExplicitVRLittleEndian
        meta.MediaStorageSOPInstanceUID = f"1.2.3.{n + 1}"
        slice = Dataset()
        slice.file_meta = meta
        slice.SOPClassUID, slice.SOPInstanceUID, slice.SeriesInstanceUID = CTImageStorage, f"1.2.3.{n + 1}", "1.2.4"
        slice.Modality, slice.PatientName, slice.InstanceNumber = "CT", "Bench^Mark", str(n + 1)
        slice.ImagePositionPatient, slice.ImageOrientationPatient = [0, 0, n * 0.5], [1, 0, 0, 0, 1, 0]
        slice.PixelSpacing, slice.SliceThickness = [0.7, 0.7], 0.5
        slice.RescaleSlope, slice.RescaleIntercept = 1, -1024
        slice.Rows, slice.Columns, slice.SamplesPerPixel, slice.PhotometricInterpretation = 512, 512, 1, "MONOCHROME2"
        slice.BitsAllocated, slice.BitsStored, slice.HighBit, slice.PixelRepresentation = 16, 12, 11, 0
        slice.PixelData = rng.integers(0, 4096, (512, 512)).astype("<u2").tobytes()
        slice.save_as(path / f"slice{n:04}.dcm", enforce_file_format=True)


MADE = {
    "tiles_900mp.tif": tiff,
    "pyramid_900mp.tif": lambda path: tiff(path, pyramid=True, compression="jpeg", Q=85),
    "hour.flac": flac,
    "minute.wav": wav,
    "minute.mp4": mp4,
    "slices": slices,
}


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in MADE.items():
        path = folder / name
        if not path.exists():
            print(f"making {name}", file=sys.stderr)
            part = path.with_name(f"part-{name}")
            write(part)
            part.rename(path)


def picture(name, words):
    def cases(_, data):
        path, one = data / name, program("one")
        group = f"{name}: {words}"
        setup = f"import pyvips\npath = {str(path)!r}\n"
        opened = setup + PLACE + "im = pyvips.Image.new_from_file(path, access='random')\n"
        windows = "for n in range(1, 21): im.crop(place(n + 100, im.width - 1200), place(n + 200, im.height - 800), 1200, 800).write_to_memory()"
        whole = "pyvips.Image.thumbnail(path, 1024).write_to_memory()"
        return [
            Case(group, "a viewport of 1,200 x 800", "gander", [one, "viewports", path]),
            peer(group, "a viewport of 1,200 x 800", "pyvips", opened, windows + EACH.format(20)),
            Case(group, "open, until something is seen", "gander", [one, "first-picture", path]),
            Case(group, "open, all of it small", "gander", [one, "picture", path]),
            peer(group, "open, all of it small", "pyvips", setup, whole),
        ]

    return cases


def sound(_, data):
    hour, minute, one = data / "hour.flac", data / "minute.wav", program("one")
    group = "one hour of FLAC, 48 kHz, stereo"
    decoded = f"import soundfile\nfor part in soundfile.blocks({str(hour)!r}, 1 << 18, dtype='float32'): pass"
    again = "a minute of WAV"
    setup = "import librosa, soundfile, numpy as np\nlibrosa.feature.melspectrogram(y=np.zeros(4096, np.float32), sr=48000)\n"
    mel = f"y, sr = soundfile.read({str(minute)!r}, dtype='float32')\ny = y.mean(axis=1)\n"
    mel += "librosa.amplitude_to_db(librosa.feature.melspectrogram(y=y, sr=sr, n_fft=1024, hop_length=len(y) // 1024, n_mels=128, power=1.0))"
    return [
        Case(group, "open, first waveform", "gander", [one, "first-waveform", hour]),
        Case(group, "open, waveform of all of it", "gander", [one, "waveform", hour]),
        Case(group, "decoding alone", "ffmpeg", ["ffmpeg", "-v", "error", "-nostdin", "-i", hour, "-f", "null", "-"]),
        peer(group, "decoding alone", "libsndfile", "", decoded),
        Case(again, "mel spectrogram, 1,024 columns", "gander", [one, "spectrogram", minute]),
        peer(again, "mel spectrogram, 1,024 columns", "librosa", setup, mel),
    ]


def video(_, data):
    path, one = data / "minute.mp4", program("one")
    group = "a minute of H.264, 1280 x 720, a key frame every two seconds"
    setup = f"""{PLACE}import av
def jump(n, exact):
    with av.open({str(path)!r}) as file:
        stream = file.streams.video[0]
        number = place(n, stream.frames)
        began = time.perf_counter()
        at = int(number / stream.average_rate / stream.time_base) + (stream.start_time or 0)
        file.seek(at, stream=stream)
        for frame in file.decode(stream):
            if not exact or frame.pts >= at:
                frame.to_ndarray(format='rgb24')
                return time.perf_counter() - began
"""
    mean = "b = sum(jump(n, {}) for n in range(1, 11)) / 10\n_t = time.perf_counter() - b"
    return [
        Case(group, "a key frame after a jump", "gander (an ffmpeg waits for it)", [one, "keys", path]),
        peer(group, "a key frame after a jump", "PyAV", setup, mean.format(False)),
        Case(group, "an exact frame after a jump", "gander (an ffmpeg waits for it)", [one, "frames", path]),
        peer(group, "an exact frame after a jump", "PyAV", setup, mean.format(True)),
    ]


def dicom(_, data):
    folder = data / "slices"
    group = "500 slices of 512 x 512, 16 bits"
    code = f"""files = [pydicom.dcmread(path) for path in Path({str(folder)!r}).iterdir()]
files.sort(key=lambda file: file.ImagePositionPatient[2])
np.stack([file.pixel_array for file in files])"""
    return [
        Case(group, "open the folder, read the volume", "gander", [program("one"), "volume", folder], work=500 * 512 * 512 * 2),
        peer(group, "open the folder, read the volume", "pydicom", "import numpy as np, pydicom\nfrom pathlib import Path", code, work=500 * 512 * 512 * 2),
    ]


GROUPS = {
    "picture": (picture("tiles_900mp.tif", "900 megapixels, RGB, tiles of 256 x 256, plain, one size"), "tiles_900mp.tif"),
    "pyramid": (picture("pyramid_900mp.tif", "the same as JPEG with smaller versions"), "pyramid_900mp.tif"),
    "sound": (sound, "hour.flac"),
    "video": (video, "minute.mp4"),
    "dicom": (dicom, "slices"),
}


if __name__ == "__main__":
    given = [sys.argv[n + 1] for n, word in enumerate(sys.argv[:-1]) if word == "--data"]
    if "--help" not in sys.argv and "-h" not in sys.argv:
        make(Path(given[0]) if given else Path(__file__).resolve().parent / "data")
    main(GROUPS, __doc__, Path(__file__).stem)
