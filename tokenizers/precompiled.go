package tokenizers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// precompiled is SentencePiece's table of replacements: a double-array trie
// (Aoe, 1989; in the layout of the library Darts-clone) of strings, with
// positions in a text of replacements that end with a zero.
type precompiled struct {
	units []uint32
	with  []byte
}

func readPrecompiled(r raw) (normalizer, error) {
	c, err := decode(r, struct {
		Map []byte `json:"precompiled_charsmap"`
	}{})
	if err != nil {
		return nil, err
	}
	return newPrecompiled(c.Map)
}

func newPrecompiled(b []byte) (normalizer, error) {
	if len(b) == 0 {
		return normalizers{}, nil
	}
	if len(b) < 4 {
		return nil, errors.New("precompiled_charsmap is shorter than its header")
	}
	size := binary.LittleEndian.Uint32(b)
	b = b[4:]
	if uint64(size) > uint64(len(b)) || size%4 != 0 {
		return nil, fmt.Errorf("precompiled_charsmap: a trie of %d bytes in %d", size, len(b))
	}
	p := &precompiled{units: make([]uint32, size/4), with: b[size:]}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return p, nil
}

// shortest returns the replacement of the shortest string of the table that b
// starts with. That it is the shortest, and stands for all of b, is how the
// reference behaves.
func (p *precompiled) shortest(b []byte) (string, bool) {
	if len(p.units) == 0 {
		return "", false
	}
	node := offset(p.units[0])
	for _, c := range b {
		node ^= uint32(c)
		if c == 0 || int(node) >= len(p.units) || p.units[node]&(1<<31|0xFF) != uint32(c) {
			return "", false
		}
		unit := p.units[node]
		node ^= offset(unit)
		if unit>>8&1 != 0 {
			return p.value(node)
		}
	}
	return "", false
}

// longest returns the replacement of the longest string of the table that b
// starts with, and its length.
func (p *precompiled) longest(b []byte) (with string, n int, ok bool) {
	if len(p.units) == 0 {
		return "", 0, false
	}
	node := offset(p.units[0])
	for i, c := range b {
		node ^= uint32(c)
		if c == 0 || int(node) >= len(p.units) || p.units[node]&(1<<31|0xFF) != uint32(c) {
			break
		}
		unit := p.units[node]
		node ^= offset(unit)
		if unit>>8&1 != 0 {
			if s, found := p.value(node); found {
				with, n, ok = s, i+1, true
			}
		}
	}
	return with, n, ok
}

// offset is where the children of a unit are, relative to it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// value returns the replacement that a leaf points to.
func (p *precompiled) value(leaf uint32) (string, bool) {
	if int(leaf) >= len(p.units) {
		return "", false
	}
	at := p.units[leaf] & (1<<31 - 1)
	if int(at) > len(p.with) {
		return "", false
	}
	end := int(at)
	for end < len(p.with) && p.with[end] != 0 {
		end++
	}
	s := p.with[at:end]
	return string(s), utf8.Valid(s)
}

func (p *precompiled) normalize(t *text, w *writer) error {
	old := t.b
	w.begin(t)
	for state := -1; w.pos < len(old); {
		var cluster []byte
		if c := old[w.pos]; c > ' ' && c < 0x7F && ends(old[w.pos+1:]) {
			cluster, state = old[w.pos:w.pos+1], -1 // no mark can follow
		} else {
			cluster, _, _, state = uniseg.FirstGraphemeCluster(old[w.pos:], state)
		}
		p.cluster(w, cluster)
	}
	w.end()
	return nil
}

// ends reports whether a character ends in front of b for sure.
func ends(b []byte) bool { return len(b) == 0 || b[0] < utf8.RuneSelf }

// shortCluster is up to how many bytes a cluster is looked up as a whole.
const shortCluster = 6

// cluster writes the replacement of a character with its marks, or of its parts.
func (p *precompiled) cluster(w *writer, b []byte) {
	if len(b) < shortCluster {
		if s, ok := p.shortest(b); ok {
			w.putReplacement(s, b)
			return
		}
	}
	for len(b) > 0 {
		_, n := utf8.DecodeRune(b)
		if s, ok := p.shortest(b[:n]); ok {
			w.putReplacement(s, b[:n])
		} else {
			w.copy(n)
		}
		b = b[n:]
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// putReplacement writes characters for those of old, which come next: one for each, and what is left
// for the last one.
func (w *writer) putReplacement(s string, old []byte) {
	var list []formed
	n := utf8.RuneCount(old)
	for _, r := range s {
		list = append(list, formed{r: r, change: bit(len(list) >= n)})
	}
	w.transform(list, len(old))
}
