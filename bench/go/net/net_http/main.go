// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The same answer as the other HTTP servers, byte for byte, from net/http: so without a date.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
)

var answer = []byte("Hello, World!")

func hello(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header["Content-Length"] = []string{"13"}
	header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	header["Date"] = nil
	_, _ = w.Write(answer)
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
	fmt.Fprintln(os.Stderr, http.Serve(l, http.HandlerFunc(hello)))
	os.Exit(1)
}
