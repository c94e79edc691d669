#![no_main]
acx_fuzz::fuzz!(issuer_keys);
