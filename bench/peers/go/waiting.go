// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sort"
	"sync"
	"time"
)

func sharedMutex100() float64 {
	return measure(200_000, func() {
		var mutex sync.RWMutex
		guarded := 0
		in100(func() {
			for left := 2_000; left != 0; left-- {
				if left%100 == 0 {
					mutex.Lock()
					guarded++
					mutex.Unlock()
				} else {
					mutex.RLock()
					expect(guarded <= 2_000)
					mutex.RUnlock()
				}
			}
		})
		expect(guarded == 2_000)
	})
}

// Go's standard library has no semaphore: a channel with a buffer serves as one.
func semaphore100() float64 {
	return measure(50_000, func() {
		four := make(chan struct{}, 4)
		in100(func() {
			for left := 500; left != 0; left-- {
				four <- struct{}{}
				runtime.Gosched()
				<-four
			}
		})
	})
}

const (
	latePairs  = 100
	lateRounds = 100
)

func late() (wakes, items []float64) {
	wakes, items = make([]float64, latePairs*lateRounds), make([]float64, latePairs*lateRounds)
	var group sync.WaitGroup
	group.Add(2 * latePairs)
	for pair := 0; pair < latePairs; pair++ {
		channel := make(chan time.Time, 1)
		go func(pair int) {
			for round := 0; round < lateRounds; round++ {
				span := time.Duration(1+(pair*7+round*3)%10) * time.Millisecond
				begin := time.Now()
				time.Sleep(span)
				now := time.Now()
				wakes[pair*lateRounds+round] = float64(now.Sub(begin) - span)
				channel <- now
			}
			group.Done()
		}(pair)
		go func(pair int) {
			for round := 0; round < lateRounds; round++ {
				sent := <-channel
				items[pair*lateRounds+round] = float64(time.Since(sent))
			}
			group.Done()
		}(pair)
	}
	group.Wait()
	return
}

func permille(all []float64, ofThousand int) float64 {
	sort.Float64s(all)
	return all[len(all)*ofThousand/1000]
}

func sleepLate(ofThousand int) float64 {
	wakes, _ := late()
	return permille(wakes, ofThousand)
}

func itemLate(ofThousand int) float64 {
	_, items := late()
	return permille(items, ofThousand)
}
