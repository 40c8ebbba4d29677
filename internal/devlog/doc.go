// Package devlog is the device log: what kernels write to tell the host of
// dsl.Printf and of failed dsl.Assert, and how the host reads it. The compiler
// makes kernels write it, the runtime owns the memory and reads it; both know its
// form from here.
//
// The log begins with counts of 32 bits; records follow, of 64-bit words. A thread reserves room
// for its record by one atomic addition to the first count. What finds no room is counted, and sets
// a bit of its launch if it tells of a failure. A record names the call it comes from by a number,
// so that texts stay on the host:
//
//	Used Lost Failed 0 bits… | record | record | …
//	record: site, launch, block and thread (3 words), values
//
//	list := devlog.Read(words, nil, func(id uint32) *devlog.Log { return kernels[id] })
//	for _, r := range list {
//		fmt.Print(r.Text())
//	}
package devlog
