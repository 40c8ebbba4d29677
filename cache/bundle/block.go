package bundle

import (
	"crypto/sha256"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"
	"weak"
)

// block is entries that are compressed together, and what came of it as long as that is there.
type block struct {
	blockRecord
	at int64 // in the file

	mu    sync.Mutex // held by who reads it
	data  weak.Pointer[byte]
	asked bool // for an entry of it
	next  bool // it is or was among those to be read ahead
}

// blocks are those that were used last, the very last at the end. A program that looks for a
// kernel soon looks for those that are beside it, which must not decompress the block again;
// and one that has all its kernels must not hold on to more than some memory.
type blocks struct {
	mu      sync.Mutex // also of data, asked and next of blocks
	kept    []keptBlock
	next    []*block // to be read ahead
	readers int      // who read ahead now
	closed  bool     // nobody begins to
	wait    sync.WaitGroup
}

type keptBlock struct {
	*block
	all []byte
}

const (
	// keepBlocks bounds what a bundle keeps of blocks that nobody uses now, to 4 MiB. Others
	// are there until the next collection of garbage.
	keepBlocks = 32
	// readAhead is how many blocks are decompressed behind one that is asked for the first time,
	// by readers other processors: a program that starts wants one kernel after the other.
	readAhead = 3
	readers   = 2
	// roomSize is what most blocks have when they are compressed, and more.
	roomSize = blockSize / 2
)

// get returns what is in a block of a list.
func (k *blocks) get(r io.ReaderAt, list []block, i int) ([]byte, error) {
	b := &list[i]
	data, first := k.have(b, true)
	if first {
		k.ahead(r, list[i+1:])
	}
	if data != nil {
		return data, nil
	}
	return k.read(r, b)
}

// ahead begins to read the first blocks of a list.
func (k *blocks) ahead(r io.ReaderAt, list []block) {
	if goruntime.GOMAXPROCS(0) == 1 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	for i := range list[:min(readAhead, len(list))] {
		if b := &list[i]; !b.next && !b.asked && b.raw <= blockSize {
			b.next, k.next = true, append(k.next, b)
		}
	}
	for ; k.readers < min(readers, len(k.next)); k.readers++ {
		k.wait.Go(func() { k.readNext(r) })
	}
}

// close ends reading ahead, and waits for those that are at it.
func (k *blocks) close() {
	k.mu.Lock()
	k.closed, k.next = true, nil
	k.mu.Unlock()
	k.wait.Wait()
}

// readNext reads ahead until there is nothing more to read.
func (k *blocks) readNext(r io.ReaderAt) {
	for {
		k.mu.Lock()
		if len(k.next) == 0 {
			k.readers--
			k.mu.Unlock()
			return
		}
		b := k.next[0]
		k.next = k.next[1:]
		k.mu.Unlock()
		_, _ = k.read(r, b) // who asks for it reads it again, and says what is wrong
	}
}

// read reads a block, once if several ask for it.
func (k *blocks) read(r io.ReaderAt, b *block) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if data, _ := k.have(b, false); data != nil {
		return data, nil
	}
	room := packedRoom.Get().(*[roomSize]byte)
	defer packedRoom.Put(room)
	text := room[:]
	if int(b.size) > len(text) {
		text = make([]byte, b.size)
	}
	text = text[:b.size]
	if err := readFull(r, text, b.at); err != nil {
		return nil, err
	}
	if sha256.Sum256(text) != b.sum {
		return nil, fmt.Errorf("at byte %d: %w: its SHA-256 is another", b.at, ErrFormat)
	}
	data, err := expand(text, int64(b.raw))
	if err == nil {
		k.keep(b, data)
	}
	return data, err
}

// packedRoom is for blocks as they are in the file.
var packedRoom = sync.Pool{New: func() any { return new([roomSize]byte) }}

// have returns what is in a block if that is there. For an entry that is asked for, it also
// reports whether that is the first one of the block, and has the block kept longer.
func (k *blocks) have(b *block, asked bool) (data []byte, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := b.data.Value(); p != nil {
		data = unsafe.Slice(p, b.raw)
	}
	if !asked {
		return data, false
	}
	first, b.asked = !b.asked, true
	if n := len(k.kept); data != nil && n > 0 && k.kept[n-1].block != b {
		k.last(b, data)
	}
	return data, first
}

// keep keeps what is in a block. What is larger than the writer makes blocks is one entry,
// which is read once.
func (k *blocks) keep(b *block, data []byte) {
	if len(data) > blockSize || len(data) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	b.data = weak.Make(&data[0])
	k.last(b, data)
}

// last makes a block the one that was used last, and gives up the one that was used first.
func (k *blocks) last(b *block, data []byte) {
	k.kept = append(slices.DeleteFunc(k.kept, func(x keptBlock) bool { return x.block == b }), keptBlock{b, data})
	if len(k.kept) > keepBlocks {
		k.kept = slices.Delete(k.kept, 0, 1)
	}
}
