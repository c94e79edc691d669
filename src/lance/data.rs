//! The data file: columns → pages, footer last. The module above draws it.

use std::collections::BTreeSet;

use arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Fields, Float32Type, Int32Type};
use prost::Message as _;

use super::LanceError;
use super::proto::{self, ArrayEncoding, ColumnMetadata, Encoding, FileDescriptor, Page};

/// Buffers begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// What fills the room between buffers.
const PADDING: u8 = b'H';

/// What a column may be.
const TYPES: &str =
    "utf8, bool, int32, float32, a list of utf8 or a fixed-size list of float32, without metadata";

/// What the items of a fixed-size list must be. Lance records only their type and number; readers give them back so.
const ITEMS: &str = "at least one item, named \"item\" and nullable";

/// The schema in pre-order: each column, and after a list its items.
pub(super) fn fields(columns: &Fields) -> Result<Vec<proto::Field>, LanceError> {
    if columns.is_empty() {
        return Err(LanceError::NoColumns);
    }
    let mut names = BTreeSet::new();
    let mut fields = Vec::with_capacity(columns.len() + 1);
    for column in columns {
        if !names.insert(column.name()) {
            return Err(LanceError::RepeatedName(column.name().clone()));
        }
        let unsupported = |expected| LanceError::Column {
            name: column.name().clone(),
            expected,
            found: column.data_type().to_string(),
        };
        if !column.metadata().is_empty() {
            return Err(unsupported(TYPES));
        }
        let logical_type = match column.data_type() {
            DataType::Utf8 => "string".to_owned(),
            DataType::Boolean => "bool".to_owned(),
            DataType::Int32 => "int32".to_owned(),
            DataType::Float32 => "float".to_owned(),
            DataType::List(item)
                if *item.data_type() == DataType::Utf8 && item.metadata().is_empty() =>
            {
                let parent = push(&mut fields, column, -1, "list".to_owned())?;
                push(&mut fields, item, parent, "string".to_owned())?;
                continue;
            }
            DataType::FixedSizeList(item, dimension)
                if *item.data_type() == DataType::Float32 && item.metadata().is_empty() =>
            {
                if *dimension < 1 || item.name() != "item" || !item.is_nullable() {
                    return Err(unsupported(ITEMS));
                }
                format!("fixed_size_list:float:{dimension}")
            }
            _ => return Err(unsupported(TYPES)),
        };
        push(&mut fields, column, -1, logical_type)?;
    }
    Ok(fields)
}

/// Appends a field and returns its id.
fn push(
    fields: &mut Vec<proto::Field>,
    field: &Field,
    parent_id: i32,
    logical_type: String,
) -> Result<i32, LanceError> {
    let id = i32::try_from(fields.len()).map_err(|_| LanceError::Column {
        name: field.name().clone(),
        expected: "fewer than 2^31 columns",
        found: "more".to_owned(),
    })?;
    fields.push(proto::Field {
        name: field.name().clone(),
        id,
        parent_id,
        encoding: if logical_type == "string" { 2 } else { 1 },
        logical_type,
        nullable: field.is_nullable(),
    });
    Ok(id)
}

/// The data file of the batch, whose schema in pre-order these fields are.
pub(super) fn file(batch: &RecordBatch, fields: &[proto::Field]) -> Result<Vec<u8>, LanceError> {
    let mut writer = Writer {
        file: Vec::with_capacity(batch.get_array_memory_size()),
        columns: Vec::with_capacity(fields.len()),
    };
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        writer.column(field, column)?;
    }
    Ok(writer.finish(fields, batch.num_rows()))
}

struct Writer {
    file: Vec<u8>,
    columns: Vec<ColumnMetadata>,
}

impl Writer {
    fn column(&mut self, field: &Field, column: &ArrayRef) -> Result<(), LanceError> {
        let refused = |expected, found: &str| LanceError::Column {
            name: field.name().clone(),
            expected,
            found: found.to_owned(),
        };
        let rows = column.len();
        if let Some(text) = column.as_string_opt::<i32>() {
            self.text(text);
            return Ok(());
        }
        if column.null_count() > 0 {
            return Err(refused("no null, except in text", "a null"));
        }
        if let Some(list) = column.as_list_opt::<i32>()
            && let Some(items) = list.values().as_string_opt::<i32>()
        {
            let ends = list.value_offsets();
            let first = ends.first().copied().unwrap_or_default();
            let last = ends.last().copied().unwrap_or_default();
            let count = u64::from(last.abs_diff(first));
            let offsets = self.buffer(|file| {
                for end in ends.iter().skip(1) {
                    file.extend(u64::from(end.abs_diff(first)).to_le_bytes());
                }
            });
            self.page(rows, &[offsets], &ArrayEncoding::list(count + 1, count));
            // A slice of a list array keeps all items of the whole.
            let first = usize::try_from(first).unwrap_or_default();
            let last = usize::try_from(last).unwrap_or_default();
            self.text(&items.slice(first, last.saturating_sub(first)));
            return Ok(());
        }
        let (buffer, values) = if let Some(bools) = column.as_boolean_opt() {
            let buffer = self.buffer(|file| {
                for at in (0..rows).step_by(8) {
                    let bits = (at..rows.min(at + 8)).map(|row| u8::from(bools.value(row)));
                    file.push(bits.rev().fold(0, |byte, bit| byte << 1 | bit));
                }
            });
            (buffer, ArrayEncoding::flat(1, 0))
        } else if let Some(ints) = column.as_primitive_opt::<Int32Type>() {
            let buffer =
                self.buffer(|file| file.extend(ints.values().iter().flat_map(|i| i.to_le_bytes())));
            (buffer, ArrayEncoding::flat(32, 0))
        } else if let Some(floats) = column.as_primitive_opt::<Float32Type>() {
            (self.floats(floats.values()), ArrayEncoding::flat(32, 0))
        } else if let Some(list) = column.as_fixed_size_list_opt()
            && let Some(floats) = list.values().as_primitive_opt::<Float32Type>()
        {
            if floats.null_count() > 0 {
                return Err(refused("no null, except in text", "a null item"));
            }
            let dimension = list.value_length().unsigned_abs();
            let items = ArrayEncoding::no_nulls(ArrayEncoding::flat(32, 0));
            let encoding = ArrayEncoding::fixed_size_list(dimension, items);
            (self.floats(floats.values()), encoding)
        } else {
            return Err(refused(TYPES, &column.data_type().to_string()));
        };
        self.page(rows, &[buffer], &ArrayEncoding::no_nulls(values));
        Ok(())
    }

    /// A column of text: end offsets, then the bytes.
    fn text(&mut self, text: &StringArray) {
        // A null slot may cover bytes; they are left out here and below.
        let total: u64 = text.iter().flatten().map(|value| value.len() as u64).sum();
        // An empty page says 0, as the official writer has it: there is no offset to adjust.
        let adjustment = if text.is_empty() { 0 } else { total + 1 };
        let ends = self.buffer(|file| {
            let mut end = 0_u64;
            for value in text {
                end += value.map_or(0, |value| value.len() as u64);
                let null = if value.is_none() { adjustment } else { 0 };
                file.extend_from_slice(&(end + null).to_le_bytes());
            }
        });
        let bytes = self.buffer(|file| {
            for value in text.iter().flatten() {
                file.extend_from_slice(value.as_bytes());
            }
        });
        self.page(
            text.len(),
            &[ends, bytes],
            &ArrayEncoding::binary(adjustment),
        );
    }

    fn floats(&mut self, floats: &[f32]) -> (u64, u64) {
        self.buffer(|file| {
            for float in floats {
                file.extend_from_slice(&float.to_le_bytes());
            }
        })
    }

    /// Appends what `write` writes, padded, and returns its position and its size without padding.
    fn buffer(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> (u64, u64) {
        let start = self.file.len();
        write(&mut self.file);
        let end = self.file.len();
        self.file.resize(end.next_multiple_of(ALIGNMENT), PADDING);
        (start as u64, (end - start) as u64)
    }

    /// Ends a column: one page of this many rows in these buffers.
    fn page(&mut self, rows: usize, buffers: &[(u64, u64)], encoding: &ArrayEncoding) {
        self.columns.push(ColumnMetadata {
            encoding: Some(Encoding::column()),
            pages: vec![Page {
                buffer_offsets: buffers.iter().map(|(at, _)| *at).collect(),
                buffer_sizes: buffers.iter().map(|(_, size)| *size).collect(),
                length: rows as u64,
                encoding: Some(Encoding::page(encoding)),
            }],
        });
    }

    /// Everything after the page buffers.
    fn finish(mut self, fields: &[proto::Field], rows: usize) -> Vec<u8> {
        let descriptor = FileDescriptor {
            schema: Some(proto::Schema {
                fields: fields.to_vec(),
            }),
            length: rows as u64,
        };
        let file = &mut self.file;
        let append = |file: &mut Vec<u8>, message: Vec<u8>| {
            let place = (file.len() as u64, message.len() as u64);
            file.extend(message);
            place
        };
        let global = append(file, descriptor.encode_to_vec());
        let first_column = file.len() as u64;
        let columns: Vec<(u64, u64)> = self
            .columns
            .iter()
            .map(|column| append(file, column.encode_to_vec()))
            .collect();
        let table = |file: &mut Vec<u8>, places: &[(u64, u64)]| {
            let at = file.len() as u64;
            for (position, size) in places {
                file.extend(position.to_le_bytes());
                file.extend(size.to_le_bytes());
            }
            at
        };
        let column_table = table(file, &columns);
        let global_table = table(file, &[global]);
        for position in [first_column, column_table, global_table] {
            file.extend(position.to_le_bytes());
        }
        file.extend(1_u32.to_le_bytes());
        // `push` keeps the number of columns below 2^31.
        file.extend(
            u32::try_from(columns.len())
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        );
        file.extend(0_u16.to_le_bytes());
        file.extend(3_u16.to_le_bytes());
        file.extend(b"LANC");
        self.file
    }
}
