#![no_main]
acx_fuzz::fuzz!(lance_rows);
