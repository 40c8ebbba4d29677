//go:build !linux

package main

import "time"

var start = time.Now()

// now returns a time of the clock.
func now(bool) time.Duration { return time.Since(start) }
