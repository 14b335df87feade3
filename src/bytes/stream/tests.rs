//! Each fixture of a codec decodes to what it was made from; each broken one says what is wrong.

use super::*;
use crate::bytes::codec::{bzip2, gzip, inflater::Inflater, lz4_frame, lzma, zstd};
use crate::bytes::source::{ReadAt, Source};

fn fixture(name: &str) -> Source {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    Source::open(&Task::new(), &path).unwrap()
}

fn stream(name: &str) -> Spooled {
    let codec = name.split('/').next().unwrap_or_default().to_owned();
    let lzma = name.ends_with(".lzma");
    let make = move || -> Result<Box<dyn Codec>> {
        Ok(match codec.as_str() {
            "gzip" => Box::new(Frames::new(gzip::Gzip::new(None)?)),
            "zlib" => Box::new(Frames::new(Inflater::new(true)?)),
            "zstd" => Box::new(Frames::new(zstd::Zstd::new()?)),
            "bzip2" => Box::new(Frames::new(bzip2::Bzip2::default())),
            "lz4" => Box::new(Frames::new(lz4_frame::Lz4::default())),
            _ if lzma => Box::new(Frames::new(lzma::Lzma::alone())),
            _ => Box::new(Frames::new(lzma::Lzma::xz())),
        })
    };
    Spooled::new(fixture(name), 0, Box::new(make))
}

/// All bytes up to the end or the damage, and the notes.
fn decoded(name: &str) -> (Vec<u8>, Notes) {
    let (task, stream) = (Task::new(), stream(name));
    assert!(stream.ahead(&task, u64::MAX).unwrap());
    let notes = stream.tell().unwrap();
    let mut out = vec![0; stream.len(&task).unwrap() as usize];
    stream.read_at(&task, 0, &mut out).unwrap();
    (out, notes)
}

#[test]
fn whole_files_decode_to_what_they_were_made_from() {
    let text = fixture("text/utf8.txt");
    let _ = text;
    let (text, _) = decoded("gzip/text.txt.gz");
    let (table, _) = decoded("gzip/table.csv.gz");
    assert!(text.len() > 100 && table.len() > 100);
    for name in [
        "gzip/stored_blocks.txt.gz",
        "gzip/members_3.txt.gz",
        "gzip/with_empty_member.txt.gz",
        "gzip/name_and_comment.gz",
        "gzip/extra_field.txt.gz",
        "gzip/header_crc.txt.gz",
        "gzip/zero_padded.txt.gz",
        "gzip/no_extension",
        "zlib/level_0.txt.zz",
        "zlib/level_9.txt.zz",
        "zlib/window_512.txt.zz",
        "zstd/text.txt.zst",
        "zstd/checksum.txt.zst",
        "zstd/frames_3.txt.zst",
        "zstd/level_19.txt.zst",
        "zstd/no_content_size.txt.zst",
        "zstd/skippable_first.txt.zst",
        "bzip2/text.txt.bz2",
        "bzip2/streams_3.txt.bz2",
        "xz/text.txt.xz",
        "xz/check_crc32.txt.xz",
        "xz/check_none.txt.xz",
        "xz/check_sha256.txt.xz",
        "xz/old_lzma.txt.lzma",
        "xz/stream_padding.txt.xz",
        "xz/streams_3.txt.xz",
        "lz4/text.txt.lz4",
        "lz4/checksums.txt.lz4",
        "lz4/frames_3.txt.lz4",
        "lz4/legacy.txt.lz4",
        "lz4/no_size.txt.lz4",
        "lz4/skippable_first.txt.lz4",
    ] {
        let (bytes, notes) = decoded(name);
        assert!(bytes == text, "{name}: {:?}", String::from_utf8_lossy(&bytes));
        assert!(notes.problem.is_none() && notes.remarks.is_empty(), "{name}: {notes:?}");
    }
    for name in [
        "zlib/table.csv.zz",
        "zstd/table.csv.zst",
        "bzip2/table.csv.bz2",
        "xz/table.csv.xz",
        "lz4/table.csv.lz4",
    ] {
        let (bytes, notes) = decoded(name);
        assert!(bytes == table && notes.problem.is_none(), "{name}");
    }
    assert_eq!(decoded("zstd/zeros_2mb.bin.zst").0, vec![0; 2_000_000]);
    assert_eq!(decoded("lz4/blocks_linked.csv.lz4").0, decoded("lz4/blocks_independent.csv.lz4").0);
}

#[test]
fn damage_is_named_with_its_place_and_what_came_before_is_there() {
    let (text, _) = decoded("gzip/text.txt.gz");
    for (name, word) in [
        ("gzip/malformed/bad_crc.txt.gz", "checksum"),
        ("gzip/malformed/bad_length.txt.gz", "bytes"),
        ("gzip/malformed/bad_deflate.txt.gz", "gzip"),
        ("gzip/malformed/cut_in_data.txt.gz", "cut off"),
        ("gzip/malformed/cut_in_tail.txt.gz", "cut off"),
        ("gzip/malformed/cut_in_header.gz", "cut off"),
        ("gzip/malformed/cut_second_member.txt.gz", "cut off"),
        ("gzip/malformed/method_7.gz", "method 7"),
        ("gzip/malformed/name_never_ends.gz", "name"),
        ("zlib/malformed/bad_adler.txt.zz", "zlib"),
        ("zlib/malformed/bad_deflate.txt.zz", "zlib"),
        ("zlib/malformed/bad_header_check.zz", "zlib"),
        ("zlib/malformed/cut_in_adler.txt.zz", "cut off"),
        ("zlib/malformed/cut_in_data.txt.zz", "cut off"),
        ("zlib/malformed/wants_dictionary.zz", "dictionary"),
        ("zstd/malformed/bad_block.txt.zst", "frame"),
        ("zstd/malformed/bad_checksum.txt.zst", "checksum"),
        ("zstd/malformed/content_size_huge.zst", "frame"),
        ("zstd/malformed/cut_in_data.txt.zst", "cut off"),
        ("zstd/malformed/cut_in_header.zst", "cut off"),
        ("zstd/malformed/skippable_beyond_file.zst", "cut off"),
        ("zstd/malformed/unknown_dictionary.zst", "dictionary"),
        ("zstd/malformed/window_huge.zst", "window"),
        ("bzip2/malformed/bad_block.txt.bz2", "block"),
        ("bzip2/malformed/bad_block_crc.txt.bz2", "block"),
        ("bzip2/malformed/bad_stream_crc.txt.bz2", "block"),
        ("bzip2/malformed/cut_in_data.txt.bz2", "cut off"),
        ("bzip2/malformed/cut_in_second_stream.txt.bz2", "cut off"),
        ("bzip2/malformed/level_0.bz2", "block size"),
        ("bzip2/malformed/magic_only.bz2", "cut off"),
        ("xz/malformed/backward_size_huge.txt.xz", "xz"),
        ("xz/malformed/bad_block.txt.xz", "xz"),
        ("xz/malformed/bad_check.txt.xz", "xz"),
        ("xz/malformed/cut_in_data.txt.xz", "cut off"),
        ("xz/malformed/cut_no_footer.txt.xz", "cut off"),
        ("xz/malformed/magic_only.xz", "cut off"),
        ("xz/malformed/tail_magic.txt.xz", "xz"),
        ("lz4/malformed/bad_block.txt.lz4", "block"),
        ("lz4/malformed/bad_content_checksum.txt.lz4", "checksum"),
        ("lz4/malformed/bad_header_checksum.txt.lz4", "checksum"),
        ("lz4/malformed/block_size_huge.txt.lz4", "block"),
        ("lz4/malformed/cut_in_data.txt.lz4", "cut off"),
        ("lz4/malformed/cut_no_end_mark.txt.lz4", "cut off"),
        ("lz4/malformed/magic_only.lz4", "cut off"),
    ] {
        let (bytes, notes) = decoded(name);
        assert!(bytes.len() <= text.len(), "{name}");
        let Some(problem) = notes.problem else { panic!("{name}: nothing is wrong with it") };
        assert!(problem.message().contains(word) && problem.offset().is_some(), "{name}: {problem}");
        // Bytes that were decoded before the damage are the good ones.
        let same = bytes.iter().zip(&text).take_while(|(a, b)| a == b).count();
        assert!(same == bytes.len() || name.contains("bad_deflate") || name.contains("bad_block"), "{name}");
    }
}

#[test]
fn what_follows_the_stream_is_a_remark() {
    let (text, _) = decoded("gzip/text.txt.gz");
    for name in [
        "gzip/malformed/garbage_after.txt.gz",
        "zstd/malformed/garbage_after.txt.zst",
        "bzip2/malformed/garbage_after.txt.bz2",
    ] {
        let (bytes, notes) = decoded(name);
        assert!(bytes == text && notes.problem.is_none() && notes.remarks.len() == 1, "{name}: {notes:?}");
    }
}

#[test]
fn damage_that_nobody_was_told_of_is_an_error_at_its_place() {
    let (task, stream) = (Task::new(), stream("gzip/malformed/cut_in_data.txt.gz"));
    let mut out = [0; 4096];
    let got = stream.read_at(&task, 0, &mut out).unwrap();
    assert!(got > 0);
    assert!(stream.read_at(&task, got as u64, &mut out).is_err());
    assert!(stream.len(&task).is_err());
    assert!(stream.tell().unwrap().problem.is_some());
    assert_eq!(stream.read_at(&task, got as u64, &mut out).unwrap(), 0);
    assert_eq!(stream.len(&task).unwrap(), got as u64);
}
