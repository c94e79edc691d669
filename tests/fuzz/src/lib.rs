//! The fuzz targets of `acx-registry`, and the seeds that they start from.

pub mod mutate;
/// The parts of the tests' support that need no built program.
#[allow(dead_code)]
#[path = "../../support"]
pub mod support {
    pub mod cartridge;
    pub mod documents;
    pub mod envelope;
    pub mod jcs;
    pub mod keys;
    pub mod levels;
    pub mod records;
    pub mod signed;
    pub mod trust;
}
pub mod targets;

/// A fuzzer of the target of this name.
#[macro_export]
macro_rules! fuzz {
    ($name:ident) => {
        static TARGET: std::sync::LazyLock<$crate::targets::Target> = std::sync::LazyLock::new(|| {
            let mut all = $crate::targets::TARGETS.iter();
            all.find(|(name, _)| *name == stringify!($name)).expect("a target of this name").1
        });
        libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
    };
}
