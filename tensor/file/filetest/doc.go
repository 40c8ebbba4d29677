// Package filetest has what the fuzz tests of readers of files share: a file is read, or refused with
// the byte at which it is wrong.
//
//	set, err := read(b)
//	if filetest.Refused(t, err, len(b)) {
//		return
//	}
package filetest
