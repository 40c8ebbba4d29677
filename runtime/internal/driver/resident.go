package driver

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Resident is a Function that can say how many of its blocks the device holds at the same time.
type Resident interface {
	Function
	ResidentBlocks(block [3]int, shared int) (int, error)
}

// CheckGrid returns why a kernel whose blocks all wait for each other cannot be launched so, nil if
// it can.
func CheckGrid(f Resident, dev *Info, l *Launch) error {
	refuse := func(text string) error {
		return &Error{Op: "launch " + f.Info().Name, Device: dev.Name, Kind: ErrInvalid,
			Text: "the kernel waits for its whole grid (t.SyncGrid)" + text}
	}
	if !dev.GridBarriers {
		return refuse(", for which the device or its driver has no launches: use a launch for each step")
	}
	most, err := f.ResidentBlocks(l.Block, l.Shared)
	if err != nil {
		return err
	}
	blocks, threads := l.Grid[0]*l.Grid[1]*l.Grid[2], l.Block[0]*l.Block[1]*l.Block[2]
	if blocks > most {
		return refuse(fmt.Sprintf(" and has %d blocks of %d threads; the device holds %d at the same time", blocks, threads, most))
	}
	return nil
}

// PointTo fills l.Pointers with the address of each parameter, which some of the vendors' functions
// take in place of a block of arguments. It allocates nothing once l.Pointers has room.
func (l *Launch) PointTo(f Function, dev *Info) error {
	l.Pointers = l.Pointers[:0]
	for _, at := range l.Params {
		if at += l.ArgsFrom; at >= len(l.Args) {
			return &Error{Op: "launch " + f.Info().Name, Device: dev.Name, Kind: ErrInvalid,
				Text: fmt.Sprintf("the argument block ends after %d bytes, and the kernel has a parameter at %d", len(l.Args), at)}
		}
		l.Pointers = append(l.Pointers, uintptr(unsafe.Pointer(&l.Args[at])))
	}
	return nil
}

// Occupancy remembers how many blocks of a kernel a multiprocessor holds, for the latest shape: a
// vendor's library computes it anew each time. The zero Occupancy knows nothing.
type Occupancy struct{ last atomic.Pointer[occupancy] }

type occupancy struct{ threads, shared, blocks int }

// Blocks returns the number for blocks of so many threads and bytes of dynamic shared memory, by
// asking if the shape is another one than last time.
func (o *Occupancy) Blocks(threads, shared int, ask func(n *int32) error) (int, error) {
	if l := o.last.Load(); l != nil && l.threads == threads && l.shared == shared {
		return l.blocks, nil
	}
	n := new(int32)
	if err := ask(n); err != nil {
		return 0, err
	}
	o.last.Store(&occupancy{threads, shared, int(*n)})
	return int(*n), nil
}
