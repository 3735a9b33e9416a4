// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

// The rows by Go whose work goes through the system, and timers that are moved: as
// ../thrum/system_rows.hpp.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

const roundTrips = 5_000

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func roundTrip(ask func([]byte), answer func(), end func()) float64 {
	done := make(chan struct{})
	go func() {
		answer()
		close(done)
	}()
	ns := measure(roundTrips, func() {
		bytes := make([]byte, 64)
		for i := 0; i != roundTrips; i++ {
			ask(bytes)
		}
	})
	end()
	<-done
	return ns
}

func answerAll(from io.Reader, to io.Writer) {
	bytes := make([]byte, 64)
	for {
		if _, err := io.ReadFull(from, bytes); err != nil {
			return
		}
		_, err := to.Write(bytes)
		must(err)
	}
}

func udp() float64 {
	there, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(err)
	here, err := net.DialUDP("udp4", nil, there.LocalAddr().(*net.UDPAddr))
	must(err)
	return roundTrip(func(bytes []byte) {
		_, err := here.Write(bytes)
		must(err)
		n, err := here.Read(bytes)
		must(err)
		expect(n == len(bytes))
	}, func() {
		bytes := make([]byte, 64)
		for {
			n, from, err := there.ReadFromUDPAddrPort(bytes)
			must(err)
			if n != len(bytes) {
				return
			}
			_, err = there.WriteToUDPAddrPort(bytes, from)
			must(err)
		}
	}, func() { _, _ = here.Write([]byte("end")) })
}

func unixSocket() float64 {
	path := fmt.Sprintf("/tmp/go_rows_%d", os.Getpid())
	listener, err := net.Listen("unix", path)
	must(err)
	here, err := net.Dial("unix", path)
	must(err)
	there, err := listener.Accept()
	must(err)
	_ = listener.Close()
	return roundTrip(func(bytes []byte) {
		_, err := here.Write(bytes)
		must(err)
		_, err = io.ReadFull(here, bytes)
		must(err)
	}, func() { answerAll(there, there) }, func() { _ = here.Close() })
}

func pipes() float64 {
	thereReader, thereWriter, err := os.Pipe()
	must(err)
	backReader, backWriter, err := os.Pipe()
	must(err)
	return roundTrip(func(bytes []byte) {
		_, err := thereWriter.Write(bytes)
		must(err)
		_, err = io.ReadFull(backReader, bytes)
		must(err)
	}, func() { answerAll(thereReader, backWriter) }, func() { _ = thereWriter.Close() })
}

func file() float64 {
	const pages = 256
	path := fmt.Sprintf("/tmp/go_rows_%d", os.Getpid())
	ofPages, err := os.Create(path)
	must(err)
	_ = os.Remove(path)
	page := make([]byte, 4096)
	for i := 0; i != pages; i++ {
		_, err = ofPages.WriteAt(page, int64(i*len(page)))
		must(err)
	}
	return measure(pages*16, func() {
		for i := 0; i != pages*16; i++ {
			_, err := ofPages.ReadAt(page, int64(i%pages*len(page)))
			must(err)
		}
	})
}

func child() float64 {
	return measure(20, func() {
		for i := 0; i != 20; i++ {
			must(exec.Command("/bin/true").Run())
		}
	})
}

func timerReset() float64 {
	const live = 100_000
	timers := make([]*time.Timer, live)
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour+time.Duration(i)*time.Microsecond, func() {})
	}
	return measure(live, func() {
		for i, each := range timers {
			each.Reset(time.Hour + time.Duration(i*7919%live)*time.Microsecond)
		}
	})
}
