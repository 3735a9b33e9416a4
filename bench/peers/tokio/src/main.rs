// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

// The rows of `./dev bench --peers` by tokio's multi-thread scheduler. Called as bench/peers/rows.hpp says.
// Its channels hold at least one item, and its shared queue has one consumer: what needs more is no row.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch, Mutex, RwLock, Semaphore};
use tokio::task::{yield_now, JoinSet};

const MILLION: i64 = 1_000_000;
const FIB_OF: i64 = 22;
const FIB_RESULT: i64 = 17_711;
const TREE_DEPTH: u32 = 16;
const TREE_NODES: i64 = (1 << (TREE_DEPTH + 1)) - 1;
const SKYNET_ACTORS: i64 = 1_111_111;
const SLEEP_ROUNDS: i64 = 5;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

async fn measure<F, W>(shortest: f64, batch: i64, work: W) -> f64
where
    F: Future<Output = ()>,
    W: Fn() -> F,
{
    work().await;
    let (mut total, mut operations) = (0.0, 0);
    loop {
        let begin = Instant::now();
        work().await;
        total += begin.elapsed().as_secs_f64();
        operations += batch;
        if total >= shortest {
            return total / operations as f64 * 1e9;
        }
    }
}

/// CPU time of all threads, as the kernel's scheduler has counted it.
fn processor_seconds() -> f64 {
    let mut total = 0.0;
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let text = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        total += text
            .split_whitespace()
            .next()
            .unwrap()
            .parse::<f64>()
            .unwrap();
    }
    total * 1e-9
}

async fn spawn_one() {
    for _ in 0..20_000 {
        tokio::spawn(async {}).await.unwrap();
    }
}

async fn spawn_1000() {
    for _ in 0..100 {
        let handles: Vec<_> = (0..1000).map(|_| tokio::spawn(async {})).collect();
        for handle in handles {
            handle.await.unwrap();
        }
    }
}

async fn yield_among(tasks: i64, rounds: i64) {
    let handles: Vec<_> = (0..tasks)
        .map(|_| {
            tokio::spawn(async move {
                for _ in 0..rounds {
                    yield_now().await;
                }
            })
        })
        .collect();
    for handle in handles {
        handle.await.unwrap();
    }
}

async fn ping_pong() {
    let (there, mut there_end) = mpsc::channel::<i64>(1);
    let (back, mut back_end) = mpsc::channel::<i64>(1);
    let partner = tokio::spawn(async move {
        while let Some(ball) = there_end.recv().await {
            back.send(ball + 1).await.unwrap();
        }
    });
    let mut ball = 0;
    for _ in 0..50_000 {
        there.send(ball).await.unwrap();
        ball = back_end.recv().await.unwrap();
    }
    drop(there);
    partner.await.unwrap();
    assert_eq!(ball, 50_000);
}

async fn pass_items(capacity: usize, n: i64) {
    let (sender, mut receiver) = mpsc::channel::<i64>(capacity);
    let producer = tokio::spawn(async move {
        for i in 0..n {
            sender.send(i).await.unwrap();
        }
    });
    let consumer = tokio::spawn(async move {
        for _ in 0..n {
            receiver.recv().await.unwrap();
        }
    });
    producer.await.unwrap();
    consumer.await.unwrap();
}

async fn select_of_two(capacity: usize, n: i64) {
    let (left, mut left_end) = mpsc::channel::<i64>(capacity);
    let (right, mut right_end) = mpsc::channel::<i64>(capacity);
    for sender in [left.clone(), right.clone()] {
        tokio::spawn(async move {
            for i in 0..n / 2 {
                sender.send(i).await.unwrap();
            }
        });
    }
    let mut sum = 0;
    for _ in 0..n {
        tokio::select! {
            item = left_end.recv() => sum += item.unwrap(),
            item = right_end.recv() => sum += item.unwrap(),
        }
    }
    assert_eq!(sum, n / 2 * (n / 2 - 1));
    drop((left, right));
}

async fn mutex_one() {
    let mutex = Mutex::new(());
    for _ in 0..MILLION {
        drop(mutex.lock().await);
    }
}

async fn mutex_100() {
    let mutex = Arc::new(Mutex::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let mutex = mutex.clone();
        tasks.spawn(async move {
            for _ in 0..2_000 {
                *mutex.lock().await += 1;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    assert_eq!(*mutex.lock().await, 200_000);
}

async fn shared_mutex_100() {
    let lock = Arc::new(RwLock::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let lock = lock.clone();
        tasks.spawn(async move {
            for left in (1..=2_000).rev() {
                if left % 100 == 0 {
                    *lock.write().await += 1;
                } else {
                    assert!(*lock.read().await <= 2_000);
                }
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    assert_eq!(*lock.read().await, 2_000);
}

async fn semaphore_100() {
    let four = Arc::new(Semaphore::new(4));
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let four = four.clone();
        tasks.spawn(async move {
            for _ in 0..500 {
                let _one = four.acquire().await.unwrap();
                yield_now().await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

fn tree_of(depth: u32) -> Boxed<i64> {
    Box::pin(async move {
        if depth == 0 {
            return 1;
        }
        let left = tokio::spawn(tree_of(depth - 1));
        let right = tokio::spawn(tree_of(depth - 1));
        left.await.unwrap() + right.await.unwrap() + 1
    })
}

fn skynet_actor(up: mpsc::Sender<i64>, number: i64, leaves: i64) -> Boxed<()> {
    Box::pin(async move {
        if leaves == 1 {
            up.send(number).await.unwrap();
            return;
        }
        let (sender, mut down) = mpsc::channel(1);
        for child in 0..10 {
            tokio::spawn(skynet_actor(
                sender.clone(),
                number + child * (leaves / 10),
                leaves / 10,
            ));
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += down.recv().await.unwrap();
        }
        up.send(sum).await.unwrap();
    })
}

async fn skynet() {
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(skynet_actor(sender, 0, MILLION));
    assert_eq!(receiver.recv().await, Some(MILLION * (MILLION - 1) / 2));
}

async fn fan_in_64() {
    let (sender, mut receiver) = mpsc::channel::<i64>(128);
    for _ in 0..64 {
        let sender = sender.clone();
        tokio::spawn(async move {
            for i in 0..2_000 {
                sender.send(i).await.unwrap();
            }
        });
    }
    for _ in 0..128_000 {
        receiver.recv().await.unwrap();
    }
}

async fn sleepers(n: i64) -> f64 {
    let begin = processor_seconds();
    let handles: Vec<_> = (0..n)
        .map(|i| {
            tokio::spawn(async move {
                for round in 0..SLEEP_ROUNDS {
                    let ms = 1 + (i * 7 + round * 31) % 100;
                    tokio::time::sleep(Duration::from_millis(ms as u64)).await;
                }
            })
        })
        .collect();
    for handle in handles {
        handle.await.unwrap();
    }
    (processor_seconds() - begin) / (n * SLEEP_ROUNDS) as f64 * 1e9
}

/// How late, in ns, each sleeper woke, and how late each item was received.
async fn late() -> (Vec<f64>, Vec<f64>) {
    let (pairs, rounds) = (100, 100);
    let mut senders = JoinSet::new();
    let mut receivers = JoinSet::new();
    for pair in 0..pairs {
        let (sender, mut receiver) = mpsc::channel::<Instant>(1);
        senders.spawn(async move {
            let mut wakes = Vec::with_capacity(rounds);
            for round in 0..rounds {
                let span = Duration::from_millis((1 + (pair * 7 + round * 3) % 10) as u64);
                let begin = Instant::now();
                tokio::time::sleep(span).await;
                let now = Instant::now();
                wakes.push((now - begin).as_nanos() as f64 - span.as_nanos() as f64);
                sender.send(now).await.unwrap();
            }
            wakes
        });
        receivers.spawn(async move {
            let mut items = Vec::with_capacity(rounds);
            for _ in 0..rounds {
                let sent = receiver.recv().await.unwrap();
                items.push(sent.elapsed().as_nanos() as f64);
            }
            items
        });
    }
    let (mut wakes, mut items) = (Vec::new(), Vec::new());
    while let Some(each) = senders.join_next().await {
        wakes.extend(each.unwrap());
    }
    while let Some(each) = receivers.join_next().await {
        items.extend(each.unwrap());
    }
    (wakes, items)
}

fn permille(mut all: Vec<f64>, of_thousand: usize) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() * of_thousand / 1000]
}

/// What wakes all: the end of a watch channel's sender.
async fn close_1000000() -> f64 {
    let (gate, receiver) = watch::channel(());
    let begun = Arc::new(Semaphore::new(0));
    let handles: Vec<_> = (0..MILLION)
        .map(|_| {
            let (mut receiver, begun) = (receiver.clone(), begun.clone());
            tokio::spawn(async move {
                begun.add_permits(1);
                let _ = receiver.changed().await;
            })
        })
        .collect();
    let _all = begun.acquire_many(MILLION as u32).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    drop(gate);
    for handle in handles {
        handle.await.unwrap();
    }
    start.elapsed().as_secs_f64() / MILLION as f64 * 1e9
}

fn forks_of_fib(n: i64) -> i64 {
    if n < 2 {
        return 0;
    }
    1 + forks_of_fib(n - 1) + forks_of_fib(n - 2)
}

fn fib_of(n: i64) -> Boxed<i64> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let left = tokio::spawn(fib_of(n - 1));
        let right = fib_of(n - 2).await;
        left.await.unwrap() + right
    })
}

const ROWS: &[&str] = &[
    "spawn_one",
    "spawn_1000",
    "yield_2",
    "yield_1000",
    "yield_1000000",
    "ping_pong",
    "item_unbuffered",
    "item_buffered",
    "select_unbuffered",
    "select_buffered",
    "mutex_one",
    "mutex_100",
    "shared_mutex_100",
    "semaphore_100",
    "tree",
    "skynet",
    "fan_in_64",
    "sleepers_1000",
    "sleepers_100000",
    "sleep_late_p50",
    "sleep_late_p99",
    "item_late_p99",
    "item_late_p999",
    "close_1000000",
    "fib",
    "process",
];

async fn work(row: String, seconds: f64) -> f64 {
    let n = 100_000;
    match row.as_str() {
        "spawn_one" => measure(seconds, 20_000, spawn_one).await,
        "spawn_1000" => measure(seconds, 100_000, spawn_1000).await,
        "yield_2" => measure(seconds, 200_000, || yield_among(2, 100_000)).await,
        "yield_1000" => measure(seconds, 200_000, || yield_among(1_000, 200)).await,
        "yield_1000000" => {
            let begin = Instant::now();
            yield_among(MILLION, 8).await;
            begin.elapsed().as_secs_f64() / (8 * MILLION) as f64 * 1e9
        }
        "ping_pong" => measure(seconds, 50_000, ping_pong).await,
        "item_unbuffered" => measure(seconds, n, || pass_items(1, n)).await,
        "item_buffered" => measure(seconds, n, || pass_items(128, n)).await,
        "select_unbuffered" => measure(seconds, n, || select_of_two(1, n)).await,
        "select_buffered" => measure(seconds, n, || select_of_two(128, n)).await,
        "mutex_one" => measure(seconds, MILLION, mutex_one).await,
        "mutex_100" => measure(seconds, 200_000, mutex_100).await,
        "shared_mutex_100" => measure(seconds, 200_000, shared_mutex_100).await,
        "semaphore_100" => measure(seconds, 50_000, semaphore_100).await,
        "tree" => {
            measure(seconds, TREE_NODES, || async {
                assert_eq!(tree_of(TREE_DEPTH).await, TREE_NODES);
            })
            .await
        }
        "skynet" => measure(seconds, SKYNET_ACTORS, skynet).await,
        "fan_in_64" => measure(seconds, 128_000, fan_in_64).await,
        "sleepers_1000" => sleepers(1_000).await,
        "sleepers_100000" => sleepers(100_000).await,
        "sleep_late_p50" => permille(late().await.0, 500),
        "sleep_late_p99" => permille(late().await.0, 990),
        "item_late_p99" => permille(late().await.1, 990),
        "item_late_p999" => permille(late().await.1, 999),
        "close_1000000" => close_1000000().await,
        "fib" => {
            measure(seconds, forks_of_fib(FIB_OF), || async {
                assert_eq!(fib_of(FIB_OF).await, FIB_RESULT);
            })
            .await
        }
        _ => 0.0,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() == 2 && arguments[1] == "--rows" {
        println!("{}", ROWS.join("\n"));
        return;
    }
    if arguments.len() != 4 || !ROWS.contains(&arguments[1].as_str()) {
        eprintln!("usage: rows ROW PROCS SECONDS | --rows");
        std::process::exit(2);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(arguments[2].parse().unwrap())
        .enable_time()
        .build()
        .unwrap();
    let (row, seconds) = (arguments[1].clone(), arguments[3].parse().unwrap());
    let main = runtime.spawn(work(row, seconds));
    println!("{} {:.2}", arguments[1], runtime.block_on(main).unwrap());
}
