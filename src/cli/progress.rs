//! What a build shows while it runs: a bar on a terminal, a line for each file with `-v`, the slowest with `-vv`.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use acx_registry::pipeline::Observer;
use acx_registry::report::{Verdict, escape};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Global, environment, output};

/// Files that `-vv` lists at the end.
const SLOWEST: usize = 10;
/// Longest that a bar may be out of date.
const TICK: Duration = Duration::from_millis(100);

/// Watches a build.
pub struct Progress {
    bar: ProgressBar,
    verbose: u8,
    /// The slowest files so far, the slowest first.
    slowest: Mutex<Vec<(Duration, String)>>,
}

impl Progress {
    /// As the user asked for it.
    pub fn new(global: Global) -> Self {
        let shown = environment::shows_progress() && !global.quiet && !global.no_progress;
        let bar = ProgressBar::with_draw_target(
            None,
            if shown {
                ProgressDrawTarget::stderr()
            } else {
                ProgressDrawTarget::hidden()
            },
        );
        Self {
            bar,
            verbose: if global.quiet { 0 } else { global.verbose },
            slowest: Mutex::default(),
        }
    }

    fn log(&self, line: &str) {
        self.bar.suspend(|| output::error(&format!("{line}\n")));
    }

    /// Clears the bar; says what took longest.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        let Ok(slowest) = self.slowest.lock() else {
            return;
        };
        if self.verbose > 1 && !slowest.is_empty() {
            output::error("slowest files:\n");
            for (time, path) in slowest.iter() {
                output::error(&format!("{}  {}\n", milliseconds(*time), escape(path)));
            }
        }
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:>9.1} ms", time.as_secs_f64() * 1000.0)
}

impl Observer for Progress {
    fn begin(&self, files: usize) {
        let style = "{bar:30} {pos}/{len} artifacts, {per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            self.bar.set_style(style);
        }
        self.bar.set_length(files as u64);
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    fn file(&self, path: &str, work: &mut dyn FnMut() -> Verdict) {
        let start = Instant::now();
        let verdict = work();
        let time = start.elapsed();
        self.bar.inc(1);
        if self.verbose > 0 {
            let word = match verdict {
                Verdict::Accept => "accept      ",
                Verdict::Reject => "REJECT      ",
                Verdict::Unverifiable => "UNVERIFIABLE",
            };
            self.log(&format!("{word} {}  {}", milliseconds(time), escape(path)));
        }
        if self.verbose > 1
            && let Ok(mut slowest) = self.slowest.lock()
        {
            let at = slowest.partition_point(|(other, _)| *other >= time);
            if at < SLOWEST {
                slowest.insert(at, (time, path.to_owned()));
                slowest.truncate(SLOWEST);
            }
        }
    }
}
