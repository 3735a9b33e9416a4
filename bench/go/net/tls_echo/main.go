// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// bench/net/thrum_tls_echo.cpp in Go: a goroutine per connection sends back whatever arrives over TLS.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
)

func serve(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 2048)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		if _, err := c.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func main() {
	port := flag.Int("port", 0, "port to listen on; 0: any")
	procs := flag.Int("procs", 1, "GOMAXPROCS")
	certificate := flag.String("cert", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)
	own, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listening on %d\n", l.Addr().(*net.TCPAddr).Port)
	config := &tls.Config{Certificates: []tls.Certificate{own}}
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go serve(tls.Server(c, config))
	}
}
