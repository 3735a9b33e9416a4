// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// bench/net/thrum_http.cpp in Go: a goroutine per connection finds the empty lines that end requests
// and answers all alike; the answers to a piece of the stream are one Write.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
)

var answer = []byte("HTTP/1.1 200 OK\r\n" +
	"Content-Length: 13\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\n" +
	"\r\n" +
	"Hello, World!")

const end = "\r\n\r\n"

// count returns how many requests end in this piece; matched is how much of end the pieces before
// it ended with.
func count(piece []byte, matched *int) int {
	requests := 0
	for at := 0; at < len(piece); at++ {
		switch {
		case *matched == 0:
			next := bytes.IndexByte(piece[at:], '\r')
			if next < 0 {
				return requests
			}
			at += next
			*matched = 1
		case piece[at] == end[*matched]:
			*matched++
			if *matched == len(end) {
				*matched = 0
				requests++
			}
		case piece[at] == '\r':
			*matched = 1
		default:
			*matched = 0
		}
	}
	return requests
}

func serve(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 2048)
	matched := 0
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		requests := count(buffer[:n], &matched)
		if requests == 0 {
			continue
		}
		answers := answer
		if requests > 1 {
			answers = bytes.Repeat(answer, requests)
		}
		if _, err := c.Write(answers); err != nil {
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
