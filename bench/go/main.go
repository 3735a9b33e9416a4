// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

// The programs of the C++ benchmarks in Go, for runs side by side. Prints one line each, named as
// Google Benchmark names them, with ns per operation.
//
//	go run main.go [-filter TEXT] [-seconds S]
//	go run main.go -parked N [-procs P]
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	filter  = flag.String("filter", "", "run only benchmarks whose name contains this")
	seconds = flag.Float64("seconds", 0.5, "shortest time to measure each for")
	parked  = flag.Int("parked", 0, "park so many goroutines on a channel and print their memory")
	procs   = flag.Int("procs", 1, "processors for -parked")
)

// measure runs work(batch) until enough time has passed, and prints what one operation took. clock
// returns a time; it is that of the wall unless the benchmark says otherwise.
func measure(name string, p int, batch int, clock func() time.Duration, work func(n int)) {
	if !strings.Contains(name, *filter) {
		return
	}
	runtime.GOMAXPROCS(p)
	runtime.GC()
	work(batch)
	var total time.Duration
	operations := 0
	for total.Seconds() < *seconds {
		begin := clock()
		work(batch)
		total += clock() - begin
		operations += batch
	}
	fmt.Printf("%-70s %10.1f ns %12d\n", name, float64(total.Nanoseconds())/float64(operations), operations)
}

var start = time.Now()

func wall() time.Duration { return time.Since(start) }

func processor() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func yieldAmong(p, goroutines int) {
	rounds := 200_000 / goroutines
	name := fmt.Sprintf("yield_among/procs:%d/goroutines:%d", p, goroutines)
	measure(name, p, rounds*goroutines, wall, func(int) {
		var group sync.WaitGroup
		group.Add(goroutines)
		for i := 0; i < goroutines; i++ {
			go func() {
				for round := 0; round < rounds; round++ {
					runtime.Gosched()
				}
				group.Done()
			}()
		}
		group.Wait()
	})
}

func spawnAndJoin(p int) {
	measure(fmt.Sprintf("spawn_and_join/procs:%d", p), p, 100_000, wall, func(n int) {
		for ; n != 0; n-- {
			done := make(chan struct{})
			go func() { close(done) }()
			<-done
		}
	})
}

func goOneAtATime(p int) {
	measure(fmt.Sprintf("go_one_at_a_time/procs:%d", p), p, 100_000, wall, func(n int) {
		for ; n != 0; n-- {
			var group sync.WaitGroup
			group.Add(1)
			go func() { group.Done() }()
			group.Wait()
		}
	})
}

func go1000AtATime(p int) {
	measure(fmt.Sprintf("go_1000_at_a_time/procs:%d", p), p, 100_000, wall, func(n int) {
		for ; n != 0; n -= 1000 {
			var group sync.WaitGroup
			group.Add(1000)
			for i := 0; i < 1000; i++ {
				go func() { group.Done() }()
			}
			group.Wait()
		}
	})
}

func tree(depth int, result chan<- int) {
	if depth == 0 {
		result <- 1
		return
	}
	left, right := make(chan int, 1), make(chan int, 1)
	go tree(depth-1, left)
	go tree(depth-1, right)
	result <- <-left + <-right + 1
}

func recursiveTree(p int) {
	const depth = 16
	measure(fmt.Sprintf("recursive_tree/procs:%d", p), p, 1<<(depth+1)-1, wall, func(nodes int) {
		root := make(chan int, 1)
		tree(depth, root)
		if <-root != nodes {
			panic("the tree lost nodes")
		}
	})
}

func producersAndConsumers(p, capacity, pairs int) {
	name := fmt.Sprintf("producers_and_consumers/procs:%d/capacity:%d/pairs:%d", p, capacity, pairs)
	measure(name, p, 200_000, wall, func(n int) {
		items := make(chan int64, capacity)
		var group sync.WaitGroup
		group.Add(2 * pairs)
		for pair := 0; pair < pairs; pair++ {
			go func() {
				for i := 0; i < n/pairs; i++ {
					items <- int64(i)
				}
				group.Done()
			}()
			go func() {
				for i := 0; i < n/pairs; i++ {
					<-items
				}
				group.Done()
			}()
		}
		group.Wait()
	})
}

func pingPong(p int) {
	measure(fmt.Sprintf("ping_pong/procs:%d", p), p, 100_000, wall, func(n int) {
		there, back, ended := make(chan int64), make(chan int64), make(chan struct{})
		go func() {
			for ball := range there {
				back <- ball + 1
			}
			close(ended)
		}()
		var ball int64
		for ; n != 0; n-- {
			there <- ball
			ball = <-back
		}
		close(there)
		<-ended
	})
}

func selectOfTwo(p, capacity int) {
	name := fmt.Sprintf("select_of_two/procs:%d/capacity:%d", p, capacity)
	measure(name, p, 200_000, wall, func(n int) {
		left, right := make(chan int64, capacity), make(chan int64, capacity)
		var group sync.WaitGroup
		for _, items := range []chan int64{left, right} {
			group.Add(1)
			go func() {
				for i := 0; i < n/2; i++ {
					items <- int64(i)
				}
				group.Done()
			}()
		}
		var sum int64
		for i := 0; i < n; i++ {
			select {
			case item := <-left:
				sum += item
			case item := <-right:
				sum += item
			}
		}
		group.Wait()
	})
}

func selectOrDefault(p int) {
	measure(fmt.Sprintf("select_or_default/procs:%d", p), p, 1_000_000, wall, func(n int) {
		left, right := make(chan int64), make(chan int64)
		for ; n != 0; n-- {
			select {
			case <-left:
			case <-right:
			default:
			}
		}
	})
}

func uncontended(p int) {
	measure(fmt.Sprintf("uncontended/procs:%d", p), p, 1_000_000, wall, func(n int) {
		var mutex sync.Mutex
		for ; n != 0; n-- {
			mutex.Lock()
			mutex.Unlock() //nolint:staticcheck // the pair is what is measured
		}
	})
}

func contenders(p, goroutines int) {
	name := fmt.Sprintf("contenders/procs:%d/goroutines:%d", p, goroutines)
	measure(name, p, 200_000, wall, func(n int) {
		var mutex sync.Mutex
		var group sync.WaitGroup
		guarded := 0
		group.Add(goroutines)
		for i := 0; i < goroutines; i++ {
			go func() {
				for left := n / goroutines; left != 0; left-- {
					mutex.Lock()
					guarded++
					mutex.Unlock()
				}
				group.Done()
			}()
		}
		group.Wait()
	})
}

func sleepers(p, goroutines int) {
	const rounds = 5
	name := fmt.Sprintf("sleepers/procs:%d/goroutines:%d", p, goroutines)
	measure(name, p, rounds*goroutines, processor, func(int) {
		var group sync.WaitGroup
		group.Add(goroutines)
		for i := 0; i < goroutines; i++ {
			go func(i int) {
				for round := 0; round < rounds; round++ {
					time.Sleep(time.Duration(1+(i*7+round*31)%100) * time.Millisecond)
				}
				group.Done()
			}(i)
		}
		group.Wait()
	})
}

// statusBytes is a line of /proc/self/status that is given in kB, in bytes.
func statusBytes(key string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		var kilobytes float64
		if strings.HasPrefix(line, key+":") {
			if _, err := fmt.Sscanf(line[len(key)+1:], "%f", &kilobytes); err == nil {
				return kilobytes * 1024
			}
		}
	}
	return 0
}

func parkAll(n, p int) {
	runtime.GOMAXPROCS(p)
	resident, tables := statusBytes("VmRSS"), statusBytes("VmPTE")
	gate := make(chan struct{})
	var begun, group sync.WaitGroup
	begun.Add(n)
	group.Add(n)
	begin := time.Now()
	for i := 0; i < n; i++ {
		go func() {
			begun.Done()
			<-gate
			group.Done()
		}()
	}
	begun.Wait()
	time.Sleep(100 * time.Millisecond)
	fmt.Printf("goroutines %d, parked after %.2f s\n", n, time.Since(begin).Seconds())
	fmt.Printf("resident %.0f B each, page tables %.0f B each\n",
		(statusBytes("VmRSS")-resident)/float64(n), (statusBytes("VmPTE")-tables)/float64(n))
	close(gate)
	group.Wait()
	fmt.Printf("all ended after %.2f s\n", time.Since(begin).Seconds())
}

func main() {
	flag.Parse()
	if *parked > 0 {
		parkAll(*parked, *procs)
		return
	}
	for _, goroutines := range []int{2, 1000} {
		for p := 1; p <= 2; p++ {
			yieldAmong(p, goroutines)
		}
	}
	for p := 1; p <= 2; p++ {
		spawnAndJoin(p)
		goOneAtATime(p)
		go1000AtATime(p)
		recursiveTree(p)
		pingPong(p)
		selectOfTwo(p, 0)
		selectOfTwo(p, 128)
		uncontended(p)
		contenders(p, 100)
	}
	selectOrDefault(1)
	for _, pairs := range []int{1, 4} {
		for _, capacity := range []int{0, 128} {
			for p := 1; p <= 2; p++ {
				producersAndConsumers(p, capacity, pairs)
			}
		}
	}
	for _, goroutines := range []int{1000, 100_000} {
		for p := 1; p <= 2; p++ {
			sleepers(p, goroutines)
		}
	}
}
