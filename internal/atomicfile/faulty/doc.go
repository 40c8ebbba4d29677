// Package faulty is a file system for tests that fails as those of full disks and other hosts
// do: a call is refused, or it is made and its reply gets lost.
//
//	sys := faulty.System{Fault: func(op, name string) (error, bool) {
//		if op == "rename" {
//			return fs.ErrNotExist, true // made, and the client's second request finds no file
//		}
//		return nil, false
//	}}
package faulty
