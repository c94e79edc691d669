//! The protobuf messages of the Lance format that a dataset of ours consists of, with the fields it uses.
//!
//! Message and field names follow `file.proto`, `file2.proto`, `encodings_v2_0.proto` and `table.proto` of the Lance
//! project. Maps are B-tree maps, so that their entries are always written in the order of their keys.

use std::collections::BTreeMap;

use prost::{Message, Oneof};

/// One field of the schema; a list's items are a field of their own.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Field {
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub id: i32,
    /// −1 at the root.
    #[prost(int32, tag = "4")]
    pub parent_id: i32,
    #[prost(string, tag = "5")]
    pub logical_type: String,
    #[prost(bool, tag = "6")]
    pub nullable: bool,
    /// 1 plain, 2 variable-length binary.
    #[prost(int32, tag = "7")]
    pub encoding: i32,
}

/// Global buffer 0 of a data file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FileDescriptor {
    #[prost(message, optional, tag = "1")]
    pub schema: Option<Schema>,
    #[prost(uint64, tag = "2")]
    pub length: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Schema {
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<Field>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ColumnMetadata {
    #[prost(message, optional, tag = "1")]
    pub encoding: Option<Encoding>,
    #[prost(message, repeated, tag = "2")]
    pub pages: Vec<Page>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Page {
    #[prost(uint64, repeated, tag = "1")]
    pub buffer_offsets: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    pub buffer_sizes: Vec<u64>,
    #[prost(uint64, tag = "3")]
    pub length: u64,
    #[prost(message, optional, tag = "4")]
    pub encoding: Option<Encoding>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Encoding {
    #[prost(message, optional, tag = "2")]
    pub direct: Option<DirectEncoding>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DirectEncoding {
    #[prost(message, optional, tag = "1")]
    pub encoding: Option<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

impl Encoding {
    /// An encoding that stands in the metadata itself.
    fn direct(type_url: &str, message: &impl Message) -> Self {
        Self {
            direct: Some(DirectEncoding {
                encoding: Some(Any {
                    type_url: type_url.to_owned(),
                    value: message.encode_to_vec(),
                }),
            }),
        }
    }

    /// A column that is nothing but its values.
    pub fn column() -> Self {
        let message = ColumnEncoding {
            values: Some(Empty {}),
        };
        Self::direct("/lance.encodings.ColumnEncoding", &message)
    }

    /// A page of this encoding.
    pub fn page(encoding: &ArrayEncoding) -> Self {
        Self::direct("/lance.encodings.ArrayEncoding", encoding)
    }
}

#[derive(Clone, PartialEq, Message)]
struct ColumnEncoding {
    #[prost(message, optional, tag = "1")]
    values: Option<Empty>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Empty {}

/// How an array becomes buffers: a tree whose leaves are flat buffers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ArrayEncoding {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 6")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Kind {
    #[prost(message, tag = "1")]
    Flat(Flat),
    #[prost(message, tag = "2")]
    Nullable(Box<Nullable>),
    #[prost(message, tag = "3")]
    FixedSizeList(Box<FixedSizeList>),
    #[prost(message, tag = "4")]
    List(Box<List>),
    #[prost(message, tag = "6")]
    Binary(Box<Binary>),
}

#[derive(Clone, PartialEq, Message)]
struct Flat {
    #[prost(uint64, tag = "1")]
    bits_per_value: u64,
    #[prost(message, optional, tag = "2")]
    buffer: Option<Buffer>,
}

#[derive(Clone, PartialEq, Message)]
struct Buffer {
    #[prost(uint32, tag = "1")]
    buffer_index: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Nullable {
    #[prost(message, optional, boxed, tag = "1")]
    no_nulls: Option<Box<NoNull>>,
}

#[derive(Clone, PartialEq, Message)]
struct NoNull {
    #[prost(message, optional, boxed, tag = "1")]
    values: Option<Box<ArrayEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
struct FixedSizeList {
    #[prost(uint32, tag = "1")]
    dimension: u32,
    #[prost(message, optional, boxed, tag = "2")]
    items: Option<Box<ArrayEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(message, optional, boxed, tag = "1")]
    offsets: Option<Box<ArrayEncoding>>,
    #[prost(uint64, tag = "2")]
    null_offset_adjustment: u64,
    #[prost(uint64, tag = "3")]
    num_items: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Binary {
    #[prost(message, optional, boxed, tag = "1")]
    indices: Option<Box<ArrayEncoding>>,
    #[prost(message, optional, boxed, tag = "2")]
    bytes: Option<Box<ArrayEncoding>>,
    #[prost(uint64, tag = "3")]
    null_adjustment: u64,
}

impl ArrayEncoding {
    fn of(kind: Kind) -> Self {
        Self { kind: Some(kind) }
    }

    /// Values of this many bits, one after the other in the page's buffer of this index.
    pub fn flat(bits_per_value: u64, buffer_index: u32) -> Self {
        Self::of(Kind::Flat(Flat {
            bits_per_value,
            buffer: Some(Buffer { buffer_index }),
        }))
    }

    /// Values without a null among them.
    pub fn no_nulls(values: Self) -> Self {
        Self::of(Kind::Nullable(Box::new(Nullable {
            no_nulls: Some(Box::new(NoNull {
                values: Some(Box::new(values)),
            })),
        })))
    }

    /// Lists of `dimension` items each.
    pub fn fixed_size_list(dimension: u32, items: Self) -> Self {
        Self::of(Kind::FixedSizeList(Box::new(FixedSizeList {
            dimension,
            items: Some(Box::new(items)),
        })))
    }

    /// Lists that end at the offsets of buffer 0; the items are the next column.
    pub fn list(null_offset_adjustment: u64, num_items: u64) -> Self {
        Self::of(Kind::List(Box::new(List {
            offsets: Some(Box::new(Self::no_nulls(Self::flat(64, 0)))),
            null_offset_adjustment,
            num_items,
        })))
    }

    /// Byte strings in buffer 1 that end at the offsets of buffer 0.
    pub fn binary(null_adjustment: u64) -> Self {
        Self::of(Kind::Binary(Box::new(Binary {
            indices: Some(Box::new(Self::no_nulls(Self::flat(64, 0)))),
            bytes: Some(Box::new(Self::flat(8, 1))),
            null_adjustment,
        })))
    }
}

/// One version of a dataset.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Manifest {
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<Field>,
    #[prost(message, repeated, tag = "2")]
    pub fragments: Vec<DataFragment>,
    #[prost(uint64, tag = "3")]
    pub version: u64,
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub schema_metadata: BTreeMap<String, Vec<u8>>,
    #[prost(message, optional, tag = "7")]
    pub timestamp: Option<Timestamp>,
    /// Written even when 0; absent without a fragment.
    #[prost(uint32, optional, tag = "11")]
    pub max_fragment_id: Option<u32>,
    #[prost(message, optional, tag = "13")]
    pub writer_version: Option<WriterVersion>,
    #[prost(message, optional, tag = "15")]
    pub data_format: Option<DataStorageFormat>,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriterVersion {
    #[prost(string, tag = "1")]
    pub library: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DataStorageFormat {
    #[prost(string, tag = "1")]
    pub file_format: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DataFragment {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(message, repeated, tag = "2")]
    pub files: Vec<DataFile>,
    #[prost(uint64, tag = "4")]
    pub physical_rows: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DataFile {
    /// Relative to the dataset's `data` folder.
    #[prost(string, tag = "1")]
    pub path: String,
    /// Field ids, and for each the column that holds it.
    #[prost(int32, repeated, tag = "2")]
    pub fields: Vec<i32>,
    #[prost(int32, repeated, tag = "3")]
    pub column_indices: Vec<i32>,
    #[prost(uint32, tag = "4")]
    pub file_major_version: u32,
    #[prost(uint32, tag = "5")]
    pub file_minor_version: u32,
    #[prost(uint64, tag = "6")]
    pub file_size_bytes: u64,
}
