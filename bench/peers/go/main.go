// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

// The rows of `./dev bench --peers` by Go. Called as bench/peers/rows.hpp says.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	million      = 1_000_000
	fibOf        = 22
	fibResult    = 17_711
	treeDepth    = 16
	treeNodes    = 1<<(treeDepth+1) - 1
	skynetActors = 1_111_111
	sleepRounds  = 5
)

var shortest float64

func measure(batch int, work func()) float64 {
	work()
	total, operations := 0.0, 0
	for {
		begin := time.Now()
		work()
		total += time.Since(begin).Seconds()
		operations += batch
		if total >= shortest {
			return total / float64(operations) * 1e9
		}
	}
}

func measureOnce(batch int, work func()) float64 {
	begin := time.Now()
	work()
	return time.Since(begin).Seconds() / float64(batch) * 1e9
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) * 1e-9
}

func expect(condition bool) {
	if !condition {
		fmt.Fprintln(os.Stderr, "wrong result")
		os.Exit(3)
	}
}

func spawnOne() float64 {
	return measure(20_000, func() {
		for i := 0; i < 20_000; i++ {
			var group sync.WaitGroup
			group.Add(1)
			go func() { group.Done() }()
			group.Wait()
		}
	})
}

func spawn1000() float64 {
	return measure(100_000, func() {
		for i := 0; i < 100; i++ {
			var group sync.WaitGroup
			group.Add(1000)
			for j := 0; j < 1000; j++ {
				go func() { group.Done() }()
			}
			group.Wait()
		}
	})
}

func yieldAmong(goroutines, rounds int) {
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
}

func pingPong() float64 {
	return measure(50_000, func() {
		there, back, ended := make(chan int64), make(chan int64), make(chan struct{})
		go func() {
			for ball := range there {
				back <- ball + 1
			}
			close(ended)
		}()
		var ball int64
		for i := 0; i < 50_000; i++ {
			there <- ball
			ball = <-back
		}
		close(there)
		<-ended
		expect(ball == 50_000)
	})
}

func passItems(capacity, pairs int) float64 {
	const n = 100_000
	return measure(n, func() {
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

func selectOfTwo(capacity int) float64 {
	const n = 100_000
	return measure(n, func() {
		left, right := make(chan int64, capacity), make(chan int64, capacity)
		var group sync.WaitGroup
		group.Add(2)
		for _, items := range []chan int64{left, right} {
			go func(items chan int64) {
				for i := 0; i < n/2; i++ {
					items <- int64(i)
				}
				group.Done()
			}(items)
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
		expect(sum == n/2*(n/2-1))
	})
}

func mutexOne() float64 {
	return measure(million, func() {
		var mutex sync.Mutex
		for i := 0; i < million; i++ {
			mutex.Lock()
			mutex.Unlock() //nolint:staticcheck // the pair is what is measured
		}
	})
}

// Does the work in each of 100 goroutines, and waits for all.
func in100(work func()) {
	var group sync.WaitGroup
	group.Add(100)
	for i := 0; i < 100; i++ {
		go func() {
			work()
			group.Done()
		}()
	}
	group.Wait()
}

func mutex100() float64 {
	return measure(200_000, func() {
		var mutex sync.Mutex
		guarded := 0
		in100(func() {
			for left := 2_000; left != 0; left-- {
				mutex.Lock()
				guarded++
				mutex.Unlock()
			}
		})
		expect(guarded == 200_000)
	})
}

func treeOf(depth int, result chan<- int) {
	if depth == 0 {
		result <- 1
		return
	}
	left, right := make(chan int, 1), make(chan int, 1)
	go treeOf(depth-1, left)
	go treeOf(depth-1, right)
	result <- <-left + <-right + 1
}

func tree() float64 {
	return measure(treeNodes, func() {
		root := make(chan int, 1)
		treeOf(treeDepth, root)
		expect(<-root == treeNodes)
	})
}

func skynetActor(up chan<- int64, number, leaves int64) {
	if leaves == 1 {
		up <- number
		return
	}
	down := make(chan int64)
	for child := int64(0); child < 10; child++ {
		go skynetActor(down, number+child*(leaves/10), leaves/10)
	}
	var sum int64
	for child := 0; child < 10; child++ {
		sum += <-down
	}
	up <- sum
}

func skynet() float64 {
	return measure(skynetActors, func() {
		up := make(chan int64)
		go skynetActor(up, 0, million)
		expect(<-up == million*(million-1)/2)
	})
}

func fanIn64() float64 {
	return measure(128_000, func() {
		items := make(chan int64, 128)
		var group sync.WaitGroup
		group.Add(64)
		for i := 0; i < 64; i++ {
			go func() {
				for j := int64(0); j < 2_000; j++ {
					items <- j
				}
				group.Done()
			}()
		}
		for i := 0; i < 128_000; i++ {
			<-items
		}
		group.Wait()
	})
}

func sleepers(n int) float64 {
	begin := processorSeconds()
	var group sync.WaitGroup
	group.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			for round := 0; round < sleepRounds; round++ {
				time.Sleep(time.Duration(1+(i*7+round*31)%100) * time.Millisecond)
			}
			group.Done()
		}(i)
	}
	group.Wait()
	return (processorSeconds() - begin) / float64(n*sleepRounds) * 1e9
}

func close1000000() float64 {
	gate := make(chan struct{})
	var begun, group sync.WaitGroup
	begun.Add(million)
	group.Add(million)
	for i := 0; i < million; i++ {
		go func() {
			begun.Done()
			<-gate
			group.Done()
		}()
	}
	begun.Wait()
	time.Sleep(100 * time.Millisecond)
	return measureOnce(million, func() {
		close(gate)
		group.Wait()
	})
}

func forksOfFib(n int) int {
	if n < 2 {
		return 0
	}
	return 1 + forksOfFib(n-1) + forksOfFib(n-2)
}

func fibOfGoroutines(n int) int {
	if n < 2 {
		return n
	}
	left := make(chan int, 1)
	go func() { left <- fibOfGoroutines(n - 1) }()
	right := fibOfGoroutines(n - 2)
	return <-left + right
}

func fib() float64 {
	return measure(forksOfFib(fibOf), func() { expect(fibOfGoroutines(fibOf) == fibResult) })
}

type row struct {
	name string
	work func() float64
}

var rows = []row{
	{"spawn_one", spawnOne},
	{"spawn_1000", spawn1000},
	{"yield_2", func() float64 { return measure(200_000, func() { yieldAmong(2, 100_000) }) }},
	{"yield_1000", func() float64 { return measure(200_000, func() { yieldAmong(1_000, 200) }) }},
	{"yield_1000000", func() float64 { return measureOnce(8*million, func() { yieldAmong(million, 8) }) }},
	{"ping_pong", pingPong},
	{"item_unbuffered", func() float64 { return passItems(0, 1) }},
	{"item_buffered", func() float64 { return passItems(128, 1) }},
	{"four_to_four_unbuffered", func() float64 { return passItems(0, 4) }},
	{"four_to_four_buffered", func() float64 { return passItems(128, 4) }},
	{"select_unbuffered", func() float64 { return selectOfTwo(0) }},
	{"select_buffered", func() float64 { return selectOfTwo(128) }},
	{"mutex_one", mutexOne},
	{"mutex_100", mutex100},
	{"shared_mutex_100", sharedMutex100},
	{"semaphore_100", semaphore100},
	{"tree", tree},
	{"skynet", skynet},
	{"fan_in_64", fanIn64},
	{"sleepers_1000", func() float64 { return sleepers(1_000) }},
	{"sleepers_100000", func() float64 { return sleepers(100_000) }},
	{"sleep_late_p50", func() float64 { return sleepLate(500) }},
	{"sleep_late_p99", func() float64 { return sleepLate(990) }},
	{"item_late_p99", func() float64 { return itemLate(990) }},
	{"item_late_p999", func() float64 { return itemLate(999) }},
	{"close_1000000", close1000000},
	{"fib", fib},
	{"udp", udp},
	{"unix", unixSocket},
	{"pipe", pipes},
	{"file", file},
	{"child", child},
	{"timer_reset", timerReset},
	{"process", func() float64 { return 0 }},
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--rows" {
		for _, each := range rows {
			fmt.Println(each.name)
		}
		return
	}
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: rows ROW PROCS SECONDS | --rows")
		os.Exit(2)
	}
	procs, _ := strconv.Atoi(os.Args[2])
	shortest, _ = strconv.ParseFloat(os.Args[3], 64)
	runtime.GOMAXPROCS(procs)
	for _, each := range rows {
		if each.name == os.Args[1] {
			fmt.Printf("%s %.2f\n", each.name, each.work())
			return
		}
	}
	fmt.Fprintln(os.Stderr, "no row", os.Args[1])
	os.Exit(2)
}
