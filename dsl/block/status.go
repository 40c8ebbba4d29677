package block

import "github.com/gokiln/kiln/dsl"

// Ticket returns how many blocks of the launch have taken a ticket before: 0 to the first one,
// whichever it is. counter is 0 before the launch. A block that waits for those with lower tickets
// waits for none that may not have begun. All threads of the block call it, and it contains barriers.
func Ticket(t dsl.Thread, counter *uint32) int {
	before := dsl.Shared[uint32](t)
	t.Sync() // the last ticket may still be read
	if t.ThreadIndex() == 0 {
		*before = dsl.AtomicAdd(counter, 1)
	}
	t.Sync()
	return int(*before)
}

// Status is status words in global memory, by which blocks hand values to others in the same launch.
// All words are 0 before it, which means that a value is not there yet; so neither fences nor flags
// are needed.
type Status struct {
	Words []uint32

	// Each is how many words a value takes. One word holds any 32 bits but ^0. Of more words, each holds
	// 16 bits of the value: two are for any 32 bits, four for any 64, on devices without atomic
	// operations on 64 bits, too.
	Each dsl.ConstInt
}

// Publish makes v value i. It is called once for each i.
func (s *Status) Publish(i int, v uint64) {
	if s.Each == 1 {
		dsl.AtomicStore(&s.Words[i], ^uint32(v))
		return
	}
	for k := range int(s.Each) {
		dsl.AtomicStore(&s.Words[i*int(s.Each)+k], 1<<31|uint32(v>>uint(16*k))&0xffff)
	}
}

// Poll returns value i, if it has been published.
func (s *Status) Poll(i int) (v uint64, ok bool) {
	if s.Each == 1 {
		b := dsl.AtomicLoad(&s.Words[i])
		return uint64(^b), b != 0
	}
	ok = true
	for k := range int(s.Each) {
		b := dsl.AtomicLoad(&s.Words[i*int(s.Each)+k])
		ok = ok && b != 0
		v |= uint64(b&0xffff) << uint(16*k)
	}
	return v, ok
}

// Await waits until value i is published, and returns it.
func (s *Status) Await(i int) uint64 {
	for {
		if v, ok := s.Poll(i); ok {
			return v
		}
	}
}
