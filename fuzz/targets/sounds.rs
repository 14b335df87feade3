#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| gander_fuzz::open("sounds", data));
