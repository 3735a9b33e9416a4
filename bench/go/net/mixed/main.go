// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// bench/net/thrum_mixed.cpp in Go: a goroutine per connection computes for as many milliseconds as the byte
// that arrives says, and sends it back.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
)

func serve(c net.Conn) {
	defer c.Close()
	message := make([]byte, 1)
	for {
		if _, err := c.Read(message); err != nil {
			return
		}
		end := time.Now().Add(time.Duration(message[0]) * time.Millisecond)
		for time.Now().Before(end) {
		}
		if _, err := c.Write(message); err != nil {
			return
		}
	}
}

func main() {
	port := flag.Int("port", 0, "port to listen on; 0: any")
	procs := flag.Int("procs", 1, "GOMAXPROCS")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listening on %d\n", l.Addr().(*net.TCPAddr).Port)
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go serve(c)
	}
}
