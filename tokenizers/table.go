package tokenizers

import (
	"hash/maphash"
	"math/bits"
)

// table maps 64-bit keys to 64-bit values by open addressing: pairs of ids to
// merges, and nodes of tries with bytes to nodes. It is filled once.
type table struct {
	slots []slot
	shift int
	n     int
}

type slot struct{ key, value uint64 } // key is one more than what it stands for

func newTable(n int) *table {
	size := max(bits.Len(uint(2*n)), 3)
	return &table{slots: make([]slot, 1<<size), shift: 64 - size}
}

// slot returns where a key is or belongs.
func (t *table) slot(key uint64) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := key * 0x9E3779B97F4A7C15 >> t.shift; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.key == key+1 || s.key == 0 {
			return s
		}
	}
}

func (t *table) get(key uint64) (uint64, bool) {
	s := t.slot(key)
	return s.value, s.key != 0
}

// set adds a key or changes its value.
func (t *table) set(key, value uint64) {
	if 2*t.n >= len(t.slots) {
		t.grow()
	}
	s := t.slot(key)
	if s.key == 0 {
		t.n++
	}
	*s = slot{key + 1, value}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	t.shift--
	for _, s := range old {
		if s.key != 0 {
			*t.slot(s.key - 1) = s
		}
	}
}

// trie is a set of strings of which those at the start of a text are found.
type trie struct {
	next  *table // node<<8|byte: node
	value []int32
	root  [256]int32 // the nodes of first bytes, 0 if there is none
}

func newTrie(n int) *trie {
	return &trie{next: newTable(4 * n), value: []int32{-1}}
}

// step returns the node behind b, or 0.
func (t *trie) step(node int32, b byte) int32 {
	if node == 0 {
		return t.root[b]
	}
	v, _ := t.next.get(uint64(node)<<8 | uint64(b))
	return int32(v)
}

// add gives a string, which is not empty, a value. The first value stays.
func (t *trie) add(s string, value int32) {
	node := int32(0)
	for i := range len(s) {
		n := t.step(node, s[i])
		if n == 0 {
			n = int32(len(t.value))
			t.value = append(t.value, -1)
			if node == 0 {
				t.root[s[i]] = n
			} else {
				t.next.set(uint64(node)<<8|uint64(s[i]), uint64(n))
			}
		}
		node = n
	}
	if t.value[node] < 0 {
		t.value[node] = value
	}
}

// longest returns the value and length of the longest string of the set that b
// starts with, from a node on.
func (t *trie) longest(node int32, b []byte) (value int32, length int) {
	value = -1
	for i, c := range b {
		if node = t.step(node, c); node == 0 {
			break
		}
		if v := t.value[node]; v >= 0 {
			value, length = v, i+1
		}
	}
	return value, length
}

// tok is a token of a piece: its id and its bytes.
type tok struct{ id, lo, hi int32 }

// Sizes of a cache: its slots, the longest piece in it, and how much it may
// hold before it starts anew.
const (
	cacheSlots = 1 << 14
	cacheKey   = 96
	cacheBytes = 4 << 20
	slabSize   = 16 << 10
)

// cache remembers the tokens of pieces that were met. It belongs to one
// goroutine at a time.
type cache struct {
	seed  maphash.Seed
	slots []cached
	keys  []byte
	toks  []tok
	used  int
}

type cached struct {
	key  string
	toks []tok
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), slots: make([]cached, cacheSlots)}
}

// find returns the slot of a piece, and whether it is the piece's already.
func (c *cache) find(b []byte) (*cached, bool) {
	s := &c.slots[maphash.Bytes(c.seed, b)&(cacheSlots-1)]
	return s, s.key == string(b)
}

// fill gives a slot to a piece and its tokens.
func (c *cache) fill(s *cached, b []byte, toks []tok) {
	if c.used += len(b) + 12*len(toks); c.used > cacheBytes {
		clear(c.slots)
		c.keys, c.toks, c.used = nil, nil, 0
	}
	if cap(c.keys)-len(c.keys) < len(b) {
		c.keys = make([]byte, 0, slabSize)
	}
	if cap(c.toks)-len(c.toks) < len(toks) {
		c.toks = make([]tok, 0, max(slabSize/12, len(toks)))
	}
	k, n := len(c.keys), len(c.toks)
	c.keys, c.toks = append(c.keys, b...), append(c.toks, toks...)
	s.key, s.toks = stringOf(c.keys[k:]), c.toks[n:len(c.toks):len(c.toks)]
}
