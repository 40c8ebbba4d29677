package runtime

import (
	"encoding/binary"
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// gridWords is the memory that the blocks of a kernel with barriers of the grid arrive at. Launches
// on a stream run one after the other, so they share it. Each launch in a graph has its own, since
// branches of a graph may run at the same time; launches of one graph do not.
type gridWords struct {
	mu  sync.Mutex
	buf *Buffer // nil before the first launch of such a kernel
}

// gridBytes is the size of the words: two of 32 bits.
const gridBytes = 8

// gridArgs is where a launch of a kernel with barriers of the grid passes what.
type gridArgs struct {
	offset int   // of the words
	params []int // of each parameter of the function
}

// SetGrid says that the kernel has barriers of the grid, and where a launch passes the words for
// them in the argument block, their address and how many there are, and where each parameter of the
// kernel is. It is called before the first launch.
func (f *Function) SetGrid(offset int, params []int) { f.grid = &gridArgs{offset, params} }

// add clears the words before a launch and adds them to its arguments, with the lock of g held
// until the launch is submitted.
func (g *gridWords) add(s *Stream, f *Function, l *driver.Launch) error {
	if g.buf == nil {
		buf, err := s.Alloc(gridBytes)
		if err != nil {
			return err
		}
		g.buf = buf
	}
	if err := s.drv.Fill(g.buf.mem.addr, 0, gridBytes); err != nil {
		return err
	}
	for len(l.Args) < f.grid.offset {
		l.Args = append(l.Args, 0)
	}
	l.Args = binary.LittleEndian.AppendUint64(l.Args, g.buf.Addr())
	l.Args = binary.LittleEndian.AppendUint64(l.Args, gridBytes/4)
	return nil
}
