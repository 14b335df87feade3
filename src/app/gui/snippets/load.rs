//! How a file of each format is loaded in Python.

use gander::data::content::{Content, Kind};
use gander::data::node::Node;
use gander::data::security::Verdict;
use gander::data::sniff::has_extension;

use super::place::File;
use super::{quoted, said};

/// Lines that load the node in this file; `root` is the root of what is open.
pub(super) fn load(file: &File, root: &Node, node: &Node) -> String {
    let loaded = table(file, node)
        .or_else(|| lake(file, root, node))
        .or_else(|| array(file, node))
        .or_else(|| tensors(file, node))
        .or_else(|| objects(file, root))
        .or_else(|| pictures(file))
        .or_else(|| plain(file, node));
    loaded.unwrap_or_else(|| format!("data = open({}, \"rb\").read()", file.python))
}

/// The path of the node in its file without the separator before it.
fn key(file: &File) -> &str {
    file.inner.trim_start_matches('/')
}

fn table(file: &File, node: &Node) -> Option<String> {
    let from = &file.python;
    Some(match file.format {
        "parquet" => format!("import pyarrow.parquet as pq\ntable = pq.read_table({from})"),
        "arrow" => {
            let open = if is_stream(file, node) { "open_stream" } else { "open_file" };
            format!(
                "import pyarrow as pa\nwith pa.memory_map({from}) as source:\n    table = pa.ipc.{open}(source).read_all()"
            )
        }
        "feather" => format!("import pyarrow.feather as feather\ntable = feather.read_table({from})"),
        "dataset" => {
            let parts = said(node, "parts").unwrap_or_default();
            let kinds = [("Arrow", "ipc"), ("CSV", "csv"), ("JSON", "json")];
            let kind = kinds.iter().find(|(word, _)| parts.contains(word)).map_or("parquet", |kind| kind.1);
            format!(
                "import pyarrow.dataset as ds\ntable = ds.dataset({from}, format=\"{kind}\", partitioning=\"hive\").to_table()"
            )
        }
        "csv" => csv(file, node),
        "jsonl" => format!("import pandas as pd\ntable = pd.read_json({from}, lines=True)"),
        "json" => json(file),
        "orc" => format!("import pandas as pd\ntable = pd.read_orc({from})"),
        "avro" => {
            format!(
                "import fastavro\nwith open({from}, \"rb\") as f:\n    records = list(fastavro.reader(f))"
            )
        }
        "xlsx" => {
            let sheet = if key(file).is_empty() { "None".to_owned() } else { quoted(key(file)) };
            format!("import pandas as pd\ntable = pd.read_excel({from}, sheet_name={sheet})")
        }
        "sqlite" if key(file).is_empty() || matches!(node.label, "index" | "trigger") => {
            format!("import sqlite3\nconnection = sqlite3.connect({from})")
        }
        "sqlite" => {
            let select = quoted(&format!("SELECT * FROM \"{}\"", key(file).replace('"', "\"\"")));
            format!(
                "import sqlite3\nimport pandas as pd\ntable = pd.read_sql({select}, sqlite3.connect({from}))"
            )
        }
        "tfrecord" => format!("import tensorflow as tf\nrecords = tf.data.TFRecordDataset({from})"),
        "tfrecord_set" => format!(
            "import tensorflow as tf\nfiles = tf.data.Dataset.list_files({from} + \"/*-of-*\")\nrecords = tf.data.TFRecordDataset(files)"
        ),
        "recordio" => format!("import mxnet as mx\nrecords = mx.recordio.MXRecordIO({from}, \"r\")"),
        "webdataset" => {
            format!("import webdataset as wds\nsamples = wds.WebDataset({from}, shardshuffle=False)")
        }
        "webdataset_set" => format!(
            "from glob import glob\nimport webdataset as wds\nshards = sorted(glob({from} + \"/*.tar\"))\nsamples = wds.WebDataset(shards, shardshuffle=False)"
        ),
        "libsvm" => format!(
            "from sklearn.datasets import load_svmlight_file\nfeatures, labels = load_svmlight_file({from})"
        ),
        "arff" => format!(
            "import pandas as pd\nfrom scipy.io import arff\nrows, attributes = arff.loadarff({from})\ntable = pd.DataFrame(rows)"
        ),
        "pcd" => format!("import open3d as o3d\ncloud = o3d.io.read_point_cloud({from})"),
        _ => return None,
    })
}

/// Whether Arrow's messages follow each other without a footer.
fn is_stream(file: &File, node: &Node) -> bool {
    match &node.content {
        Some(Content::Table(table)) => table.facts().details.iter().any(|(_, value)| value == "IPC stream"),
        _ => has_extension(&file.name, &["arrows"]),
    }
}

/// A table of text in the dialect that was found in it, or else the one that its name promises.
fn csv(file: &File, node: &Node) -> String {
    let mut given = vec![file.python.clone()];
    let promised = match &file.name {
        name if has_extension(name, &["tsv", "tab"]) => "tab",
        name if has_extension(name, &["psv"]) => "|",
        _ => ",",
    };
    match said(node, "delimiter").unwrap_or(promised) {
        "," => {}
        "tab" => given.push(format!("sep={}", quoted("\t"))),
        "space" if said(node, "merge delimiters").is_some() => given.push("sep=r\"\\s+\"".to_owned()),
        "space" => given.push("sep=\" \"".to_owned()),
        other => given.push(match other.strip_prefix("0x") {
            Some(digits) => format!("sep=\"\\x{digits}\""),
            None => format!("sep={}", quoted(other)),
        }),
    }
    // Lines before the table are told in words only.
    let skipped = node.remarks.iter().find_map(|remark| remark.split_once(" comment line"));
    let skipped = skipped.and_then(|(count, _)| count.replace(',', "").parse::<u64>().ok());
    let told = said(node, "skip").and_then(|lines| lines.parse::<u64>().ok());
    let lines = skipped.unwrap_or(0) + told.unwrap_or(0);
    given.extend((lines > 0).then(|| format!("skiprows={lines}")));
    given.extend(said(node, "decimal").map(|_| "decimal=\",\"".to_owned()));
    let mark = said(node, "thousands").and_then(|word| match word {
        "comma" => Some(","),
        "point" => Some("."),
        "space" => Some(" "),
        "apostrophe" => Some("'"),
        "underscore" => Some("_"),
        _ => None,
    });
    given.extend(mark.map(|mark| format!("thousands={}", quoted(mark))));
    given.extend(said(node, "nulls").map(|nulls| {
        let texts: Vec<String> =
            nulls.split(',').map(str::trim).filter(|null| !null.is_empty()).map(quoted).collect();
        format!("na_values=[{}]", texts.join(", "))
    }));
    if said(node, "header") == Some("no") {
        given.push("header=None".to_owned());
    }
    given.extend(said(node, "skip initial space").map(|_| "skipinitialspace=True".to_owned()));
    match said(node, "quote") {
        None | Some("\"") => {}
        Some("none") => given.push("quoting=3".to_owned()),
        Some(other) => given.push(format!("quotechar={}", quoted(other))),
    }
    let (name, mark) = match said(node, "encoding").map(|words| (words, words.split_once(','))) {
        None => ("utf-8", false),
        Some((words, None)) => (words, false),
        Some((_, Some((name, _)))) => (name, true),
    };
    given.extend(encoding(name, mark).map(|name| format!("encoding=\"{name}\"")));
    format!("import pandas as pd\ntable = pd.read_csv({})", given.join(", "))
}

/// Python's name of an encoding, where that is not its own; `mark` says that a byte order mark stands first.
fn encoding(name: &str, mark: bool) -> Option<String> {
    match name {
        "utf-8" => mark.then(|| "utf-8-sig".to_owned()),
        "utf-16le" | "utf-16be" if mark => Some("utf-16".to_owned()),
        "utf-32le" | "utf-32be" if mark => Some("utf-32".to_owned()),
        "macintosh" => Some("mac_roman".to_owned()),
        "x-mac-cyrillic" => Some("mac_cyrillic".to_owned()),
        other => Some(other.replacen("windows-", "cp", 1)),
    }
}

fn json(file: &File) -> String {
    let mut code =
        format!("import json\nwith open({}, encoding=\"utf-8\") as f:\n    data = json.load(f)", file.python);
    if !key(file).is_empty() {
        let step = |part: &str| match part.parse::<u64>() {
            Ok(index) => format!("[{index}]"),
            Err(_) => format!("[{}]", quoted(part)),
        };
        let steps: String = key(file).split('/').map(step).collect();
        code += &format!("\nvalue = data{steps}");
    }
    code
}

/// Tables whose metadata say which files they are.
fn lake(file: &File, root: &Node, node: &Node) -> Option<String> {
    let from = &file.python;
    // A version, a snapshot; what lies below one is not looked at.
    let state = key(file).split('/').next().and_then(|part| part.split_once('='));
    match file.format {
        "delta" => {
            let version = match state {
                Some(("version", number)) => format!(", version={number}"),
                _ => String::new(),
            };
            let get = if key(file) == "history" { "history()" } else { "to_pandas()" };
            Some(format!("from deltalake import DeltaTable\ntable = DeltaTable({from}{version}).{get}"))
        }
        "iceberg" => {
            let metadata = said(node, "metadata file").or_else(|| said(root, "metadata file"));
            let place = match (&file.path, metadata) {
                (Some(folder), Some(name)) => quoted(&format!("{folder}/metadata/{name}")),
                _ => from.clone(),
            };
            let scan = match state {
                Some(("snapshot", id)) => format!("scan(snapshot_id={id})"),
                Some(("branch" | "tag", name)) => format!("scan().use_ref({})", quoted(name)),
                _ => "scan()".to_owned(),
            };
            Some(format!(
                "from pyiceberg.table import StaticTable\ntable = StaticTable.from_metadata({place}).{scan}.to_arrow()"
            ))
        }
        _ => None,
    }
}

fn array(file: &File, node: &Node) -> Option<String> {
    let (from, key) = (&file.python, key(file));
    let root = key.is_empty();
    // All of it, or the node in it.
    let item = |path: &str| if root { String::new() } else { format!("[{}]", quoted(path)) };
    Some(match file.format {
        "npy" => match key.parse::<u64>() {
            // One array behind the other.
            Ok(number) => format!(
                "import numpy as np\nwith open({from}, \"rb\") as f:\n    for _ in range({}):\n        array = np.load(f)",
                number.saturating_add(1)
            ),
            Err(_) => format!("import numpy as np\narray = np.load({from}, mmap_mode=\"r\")"),
        },
        "npz" => format!("import numpy as np\narray = np.load({from}){}", item(key)),
        "bloscpack" => format!("import bloscpack\narray = bloscpack.unpack_ndarray_from_file({from})"),
        "wav" | "w64" | "aiff" | "au" | "caf" | "flac" | "ogg" | "mp3" => {
            format!("import soundfile\narray, rate = soundfile.read({from}, always_2d=True)")
        }
        "m4a" => format!("import librosa\narray, rate = librosa.load({from}, sr=None, mono=False)"),
        "idx" => format!("import idx2numpy\narray = idx2numpy.convert_from_file({from})"),
        "hdf5" => format!("import h5py\narray = h5py.File({from}, \"r\"){}", item(&file.inner)),
        "netcdf4" | "netcdf3" if root => format!("import xarray as xr\ndataset = xr.open_dataset({from})"),
        "netcdf4" | "netcdf3" => format!("import netCDF4\nvariable = netCDF4.Dataset({from}){}", item(key)),
        "zarr" => format!("import zarr\narray = zarr.open({from}, mode=\"r\"){}", item(key)),
        "n5" => format!(
            "import tensorstore as ts\nstore = {{\"driver\": \"file\", \"path\": {from}}}\narray = ts.open({{\"driver\": \"n5\", \"kvstore\": store, \"path\": {}}}).result()",
            quoted(key)
        ),
        "nifti" | "mgh" => format!(
            "import nibabel\nimport numpy as np\nimage = nibabel.load({from})\narray = np.asanyarray(image.dataobj)"
        ),
        "fits" => {
            let unit = key.split('/').next().unwrap_or_default();
            let unit = match unit.strip_prefix("HDU ").and_then(|number| number.parse::<u32>().ok()) {
                _ if root && node.kind() == Kind::Group => return Some(fits(from, "")),
                _ if root => "[0].data".to_owned(),
                Some(number) => format!("[{number}].data"),
                None => format!("[{}].data", quoted(unit)),
            };
            fits(from, &unit)
        }
        "mat" => {
            let steps = matlab(key);
            format!("import scipy.io\nvalue = scipy.io.loadmat({from}, simplify_cells=True){steps}")
        }
        _ => return None,
    })
}

fn fits(from: &str, what: &str) -> String {
    format!("from astropy.io import fits\ndata = fits.open({from}){what}")
}

/// A path of MATLAB (`s.field`, `c{3}`, `s(2).field`) as steps of Python, which counts from zero.
fn matlab(path: &str) -> String {
    let mut steps = String::new();
    for part in path.split_inclusive(['.', '{', '}', '(', ')']) {
        let (text, closes) = match part.strip_suffix(['}', ')']) {
            Some(text) => (text, true),
            None => (part.trim_end_matches(['.', '{', '(']), false),
        };
        if text.is_empty() {
            continue;
        }
        let numbers: Option<Vec<String>> = text
            .split(',')
            .map(|n| Some(n.trim().parse::<u64>().ok()?.checked_sub(1)?.to_string()))
            .collect();
        steps += &match numbers.filter(|_| closes) {
            Some(numbers) => format!("[{}]", numbers.join(", ")),
            None => format!("[{}]", quoted(text)),
        };
    }
    steps
}

/// Tensors of a model, in one file or in several beside each other.
/// Python's objects. Loading them runs what is in them, so of those that would do harm only the opcodes are listed.
fn objects(file: &File, root: &Node) -> Option<String> {
    let from = &file.python;
    let harmful = root.security_now().is_some_and(|report| report.verdict == Verdict::Dangerous);
    let runs = "# Loading runs code that the file names.";
    Some(match file.format {
        "pickle" | "joblib" if harmful => {
            format!("import pickletools\nwith open({from}, \"rb\") as f:\n    pickletools.dis(f)")
        }
        "pickle" => {
            format!("import pickle\n{runs}\nwith open({from}, \"rb\") as f:\n    value = pickle.load(f)")
        }
        "joblib" => format!("import joblib\n{runs}\nvalue = joblib.load({from})"),
        "shelve" => format!("import shelve\n{runs}\nshelf = shelve.open({from}, \"r\")"),
        "pickleshare" => {
            format!("from pickleshare import PickleShareDB\n{runs}\nstore = PickleShareDB({from})")
        }
        _ => return None,
    })
}

fn tensors(file: &File, node: &Node) -> Option<String> {
    let from = &file.python;
    if let Some(code) = torch(file) {
        return Some(code);
    }
    if matches!(file.format, "gguf" | "gguf_split") {
        return Some(gguf(node, file));
    }
    let folder = match file.format {
        "safetensors_sharded" => Some(format!("Path({from})")),
        "huggingface" if matches!(node.label, "tensor" | "module") => Some(format!("Path({from})")),
        "safetensors" if is_shard(&file.name) => Some(format!("Path({from}).parent")),
        "safetensors" => None,
        _ => return None,
    };
    let name = quoted(key(file));
    let of_module = format!("name.startswith({})", quoted(&format!("{}.", key(file))));
    // What is made of several tensors is in no file by itself.
    Some(match (folder, key(file).is_empty() || node.derived, node.label == "module") {
        (None, true, _) => format!("from safetensors.torch import load_file\ntensors = load_file({from})"),
        (None, false, false) => format!(
            "from safetensors import safe_open\nwith safe_open({from}, framework=\"pt\") as f:\n    tensor = f.get_tensor({name})"
        ),
        (None, false, true) => format!(
            "from safetensors import safe_open\nwith safe_open({from}, framework=\"pt\") as f:\n    tensors = {{name: f.get_tensor(name) for name in f.keys() if {of_module}}}"
        ),
        (Some(folder), true, _) => format!(
            "from pathlib import Path\nfrom safetensors.torch import load_file\ntensors = {{}}\nfor shard in sorted({folder}.glob(\"*.safetensors\")):\n    tensors.update(load_file(shard))"
        ),
        (Some(folder), false, module) => {
            let wanted = if module { of_module } else { format!("name == {name}") };
            format!(
                "from pathlib import Path\nfrom safetensors import safe_open\ntensors = {{}}\nfor shard in sorted({folder}.glob(\"*.safetensors\")):\n    with safe_open(shard, framework=\"pt\") as f:\n        tensors.update({{name: f.get_tensor(name) for name in f.keys() if {wanted}}})"
            )
        }
    })
}

/// What the package gguf reads; of a model in several files by all of them.
fn gguf(node: &Node, file: &File) -> String {
    let from = &file.python;
    let folder = match file.format {
        "gguf_split" => Some(format!("Path({from})")),
        _ if file.name.contains("-of-") => Some(format!("Path({from}).parent")),
        _ => None,
    };
    let (reader, tensors) = match folder {
        Some(folder) => (
            format!(
                "import gguf\nfrom pathlib import Path\nreaders = [gguf.GGUFReader(part) for part in sorted({folder}.glob(\"*-of-*.gguf\"))]"
            ),
            "for reader in readers for t in reader.tensors",
        ),
        None => (format!("import gguf\nreader = gguf.GGUFReader({from})"), "for t in reader.tensors"),
    };
    match node.label {
        "tensor" => format!(
            "{reader}\ntensor = next(t {tensors} if t.name == {})\nvalues = gguf.dequantize(tensor.data, tensor.tensor_type)",
            quoted(key(file))
        ),
        _ => reader,
    }
}

/// What PyTorch loads with its own functions; of checkpoints only what runs no code of theirs.
fn torch(file: &File) -> Option<String> {
    let from = &file.python;
    Some(match file.format {
        "pytorch" => {
            format!("import torch\nvalues = torch.load({from}, map_location=\"cpu\", weights_only=True)")
        }
        "pytorch_sharded" => format!(
            "from pathlib import Path\nimport torch\ntensors = {{}}\nfor shard in sorted(Path({from}).glob(\"*-of-*.bin\")):\n    tensors.update(torch.load(shard, map_location=\"cpu\", weights_only=True))"
        ),
        "torchscript" => format!("import torch\nmodule = torch.jit.load({from}, map_location=\"cpu\")"),
        "torch_export" => format!("import torch\nprogram = torch.export.load({from})"),
        "torch_distributed" => format!(
            "from torch.distributed.checkpoint.format_utils import dcp_to_torch_save\ndcp_to_torch_save({from}, \"checkpoint.pt\")"
        ),
        _ => return None,
    })
}

/// Whether a file is one of several that make a model, or says which they are.
fn is_shard(name: &str) -> bool {
    name.ends_with(".safetensors.index.json")
        || (name.contains("-of-") && has_extension(name, &["safetensors"]))
}

/// Pictures and videos.
fn pictures(file: &File) -> Option<String> {
    let from = &file.python;
    Some(match file.format {
        "png" | "jpeg" | "webp" | "gif" | "bmp" | "tiff" | "ppm" | "qoi" | "ico" | "tga" => {
            let page = key(file).parse::<u32>();
            let page = page.map_or(String::new(), |page| format!("\nimage.seek({page})"));
            format!("from PIL import Image\nimage = Image.open({from}){page}")
        }
        "hdr" | "exr" => format!("import imageio.v3 as iio\nimage = iio.imread({from})"),
        "avif" | "jp2" => format!("from PIL import Image\nimage = Image.open({from})"),
        "jxl" => format!("import imagecodecs\nimage = imagecodecs.imread({from})"),
        "heic" => {
            format!(
                "from PIL import Image\nimport pillow_heif\npillow_heif.register_heif_opener()\nimage = Image.open({from})"
            )
        }
        "dicom" => format!("import pydicom\ndata = pydicom.dcmread({from})\npixels = data.pixel_array"),
        "dicom_series" => format!(
            "import SimpleITK as sitk\nreader = sitk.ImageSeriesReader()\nreader.SetFileNames(reader.GetGDCMSeriesFileNames({from}))\nvolume = sitk.GetArrayFromImage(reader.Execute())"
        ),
        "svg" => format!("import cairosvg\npng = cairosvg.svg2png(url={from})"),
        "mp4" | "matroska" | "avi" | "mpegts" => format!(
            "import av\nwith av.open({from}) as video:\n    frames = [frame.to_ndarray(format=\"rgb24\") for frame in video.decode(video=0)]"
        ),
        _ => return None,
    })
}

/// Texts, models, and what holds files.
fn plain(file: &File, node: &Node) -> Option<String> {
    let from = &file.python;
    Some(match file.format {
        "xgboost" => format!("import xgboost as xgb\nbooster = xgb.Booster(model_file={from})"),
        "lightgbm" => format!("import lightgbm as lgb\nbooster = lgb.Booster(model_file={from})"),
        "catboost" => format!("from catboost import CatBoost\nmodel = CatBoost().load_model({from})"),
        "keras" => format!("import keras\nmodel = keras.saving.load_model({from})"),
        "mxnet_params" => format!("import mxnet as mx\narrays = mx.nd.load({from})"),
        "text" => {
            let mark = said(node, "byte order mark").is_some();
            let name = match &node.content {
                Some(Content::Text(text)) => text.encoding(),
                _ => "utf-8".to_owned(),
            };
            let name = encoding(&name, mark).unwrap_or_else(|| "utf-8".to_owned());
            format!("text = open({from}, encoding=\"{name}\").read()")
        }
        "zip" => format!("import zipfile\nnames = zipfile.ZipFile({from}).namelist()"),
        "tar" => format!("import tarfile\nnames = tarfile.open({from}).getnames()"),
        "lmdb" => format!(
            "import os\nimport lmdb\nenv = lmdb.open({from}, subdir=os.path.isdir({from}), readonly=True, lock=False)\nwith env.begin() as txn:\n    entries = list(txn.cursor())"
        ),
        "coco" => format!("from pycocotools.coco import COCO\ncoco = COCO({from})"),
        "voc" => format!(
            "import xml.etree.ElementTree as ET\nfrom pathlib import Path\nfiles = sorted(Path({from}).glob(\"[Aa]nnotations/*.xml\"))\nannotations = {{file.stem: ET.parse(file).getroot() for file in files}}"
        ),
        "yolo" => format!(
            "from pathlib import Path\nlabels = {{file: [line.split() for line in file.read_text().splitlines()] for file in sorted(Path({from}).rglob(\"*.txt\"))}}"
        ),
        "labelme" => json(file),
        "labelme_set" => format!(
            "import json\nfrom pathlib import Path\nannotations = [json.loads(file.read_text(encoding=\"utf-8\")) for file in sorted(Path({from}).glob(\"*.json\"))]"
        ),
        "image_folder" => {
            format!(
                "from datasets import load_dataset\ndataset = load_dataset(\"imagefolder\", data_dir={from})"
            )
        }
        "hf_dataset" if said(node, "layout") == Some("save_to_disk") => {
            format!("from datasets import load_from_disk\ndataset = load_from_disk({from})")
        }
        "hf_dataset" => format!("from datasets import load_dataset\ndataset = load_dataset({from})"),
        "xml" => format!("import xml.etree.ElementTree as ET\nroot = ET.parse({from}).getroot()"),
        "yaml" => format!(
            "import yaml\nwith open({from}, \"rb\") as f:\n    documents = list(yaml.safe_load_all(f))"
        ),
        "ffcv" => format!("from ffcv.reader import Reader\nreader = Reader({from})\nrows = reader.metadata"),
        "msgpack" => format!(
            "import msgpack\nwith open({from}, \"rb\") as f:\n    objects = list(msgpack.Unpacker(f, strict_map_key=False))"
        ),
        "flax" => format!(
            "from flax.serialization import msgpack_restore\nwith open({from}, \"rb\") as f:\n    state = msgpack_restore(f.read())"
        ),
        "tensorboard" | "training_run" => format!(
            "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\nevents = EventAccumulator({from}, size_guidance={{\"scalars\": 0, \"tensors\": 0}}).Reload()\ntags = events.Tags()"
        ),
        "huggingface" if key(file).starts_with("merged") => format!(
            "from peft import AutoPeftModelForCausalLM\nmodel = AutoPeftModelForCausalLM.from_pretrained({from}).merge_and_unload()"
        ),
        "huggingface" => {
            format!("from transformers import AutoModel\nmodel = AutoModel.from_pretrained({from})")
        }
        "folder" => format!("from pathlib import Path\nfiles = sorted(Path({from}).rglob(\"*\"))"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_matlab_count_from_one() {
        assert_eq!(matlab("x"), "[\"x\"]");
        assert_eq!(matlab("s(2).field{1,3}"), "[\"s\"][1][\"field\"][0, 2]");
        assert_eq!(matlab(""), "");
    }

    #[test]
    fn encodings_have_pythons_names() {
        assert_eq!(encoding("utf-8", false), None);
        assert_eq!(encoding("utf-8", true).as_deref(), Some("utf-8-sig"));
        assert_eq!(encoding("windows-1252", false).as_deref(), Some("cp1252"));
        assert_eq!(encoding("shift_jis", false).as_deref(), Some("shift_jis"));
    }
}
