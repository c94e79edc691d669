"""Writes the rows of a dataset with pylance, again and again: the other half of benches/lance.rs.

usage: pylance_write.py DATASET FOLDER SECONDS

Prints how many datasets it wrote into FOLDER and how many seconds that took. The rows are read and turned into an Arrow
table before the clock starts, so pylance is spared what our side is charged for: JSON-like records to columns, and the
embedding.
"""

import sys
import time

import lance

source, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
table = lance.dataset(source).to_table()
# The same storage format as ours; the first write also pays for what pylance sets up once.
lance.write_dataset(table, f"{folder}/first.lance", data_storage_version="2.0")
count, start = 0, time.perf_counter()
while True:
    lance.write_dataset(table, f"{folder}/{count}.lance", data_storage_version="2.0")
    count += 1
    spent = time.perf_counter() - start
    if spent >= seconds:
        break
print(count, spent)
