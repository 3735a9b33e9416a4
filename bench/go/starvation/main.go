// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// bench/starvation.cpp in Go: the same arguments, the same lines.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type hog struct {
	rounds uint64
	_      [56]byte
}

func sleepUntilOver(d time.Duration) []float64 {
	var late []float64
	for end := time.Now().Add(d); time.Now().Before(end); {
		begin := time.Now()
		time.Sleep(time.Millisecond)
		late = append(late, float64((time.Since(begin) - time.Millisecond).Nanoseconds())/1000)
	}
	sort.Float64s(late)
	return late
}

func report(late []float64) {
	if len(late) != 0 {
		fmt.Printf("late p50 %.0f us, p99 %.0f us, ", late[len(late)/2], late[len(late)*99/100])
	}
}

func loops(sleeper bool, hogs int, d time.Duration) {
	var stop atomic.Bool
	var group sync.WaitGroup
	all := make([]hog, hogs)
	for i := range all {
		group.Add(1)
		go func(own *hog) {
			for !stop.Load() {
				atomic.StoreUint64(&own.rounds, own.rounds+1)
			}
			group.Done()
		}(&all[i])
	}
	begin := time.Now()
	if sleeper {
		report(sleepUntilOver(d))
	} else {
		time.Sleep(d)
	}
	stop.Store(true)
	group.Wait()
	var rounds uint64
	for i := range all {
		rounds += all[i].rounds
	}
	fmt.Printf("%.1f rounds/us\n", float64(rounds)/float64(time.Since(begin).Microseconds()))
}

func blocking(d time.Duration) {
	var stop atomic.Bool
	var calls atomic.Uint64
	var group sync.WaitGroup
	for i := 0; i < 64; i++ {
		group.Add(1)
		go func() {
			for !stop.Load() {
				syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil)
				calls.Add(1)
			}
			group.Done()
		}()
	}
	begin := time.Now()
	report(sleepUntilOver(d))
	stop.Store(true)
	fmt.Printf("%.0f calls/s\n", float64(calls.Load())/time.Since(begin).Seconds())
	group.Wait()
}

func number(i, otherwise int) int {
	if i < len(os.Args) {
		n, _ := strconv.Atoi(os.Args[i])
		return n
	}
	return otherwise
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "blocking" {
		runtime.GOMAXPROCS(number(2, 2))
		blocking(time.Duration(number(3, 3)) * time.Second)
		return
	}
	runtime.GOMAXPROCS(number(2, 1))
	loops(number(1, 1) != 0, number(3, 1), time.Duration(number(4, 3))*time.Second)
}
