// Package callsite tells which line of a program asked for something, for errors that are
// found later. To note the callers costs a nanosecond a frame, since frame pointers are
// followed and nothing is looked up; names and lines are found when an error is written.
//
//	var s callsite.Stack
//	s.Capture(0)
//	…
//	s.Site().Pos // "main.go:12"
//
// The line is that of the first caller outside of this module's libraries.
package callsite
