package tokenizers

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// unkPenalty is how much less than the rarest token an unknown character
// scores, as in SentencePiece.
const unkPenalty = 10

// unigram takes the tokens of a piece whose probabilities have the largest
// product, by the algorithm of Viterbi (Kudo, 2018).
type unigram struct {
	*vocab
	scores   []float64
	unk      int32 // -1: none
	unkScore float64
	bytes    *[256]int32 // tokens of bytes for what is unknown, nil if there are none
	trie     *trie
	single   bool // scores are kept in 32 bits
	longest  int  // bytes of the longest token
}

// best is the best way to the end of a part of a piece.
type best struct {
	score float64
	from  int32 // -1: none is known
	id    int32
}

func newUnigram(tokens []string, scores []float64, unk int32, byteFallback bool) (*unigram, error) {
	m := &unigram{scores: scores, unk: unk, trie: newTrie(len(tokens))}
	m.vocab = &vocab{ids: make(map[string]int32, len(tokens)), tokens: tokens}
	m.known = slices.Repeat([]bool{true}, len(tokens))
	if unk < -1 || int(unk) >= len(tokens) {
		return nil, fmt.Errorf("unk_id is %d in a vocabulary of %d tokens", unk, len(tokens))
	}
	low := math.Inf(1)
	for i, token := range tokens {
		m.ids[token] = int32(i)
		low = min(low, scores[i])
	}
	for token, id := range m.ids {
		if token != "" {
			m.trie.add(token, id)
		}
	}
	m.unkScore = low - unkPenalty
	if byteFallback {
		m.bytes = m.byteTokens()
	}
	return m, nil
}

func (m *unigram) names() *vocab { return m.vocab }

func (m *unigram) tokenize(dst []tok, s *state, piece []byte, _ bool) ([]tok, error) {
	m.search(s, piece)
	n := len(dst)
	for end := int32(len(piece)); end > 0; {
		b := s.best[end]
		if b.id < 0 {
			return dst[:n], fmt.Errorf("character %q: %w (unk_id)", piece[b.from:end], errNoUnknown)
		}
		dst = append(dst, tok{b.id, b.from, end})
		end = b.from
	}
	slices.Reverse(dst[n:])
	return m.unknowns(dst, n, piece)
}

// search fills s.best with the best way to each position.
func (m *unigram) search(s *state, piece []byte) {
	s.best = slices.Grow(s.best[:0], len(piece)+1)[:len(piece)+1]
	for i := range s.best {
		s.best[i] = best{from: -1}
	}
	for pos := 0; pos < len(piece); {
		if m.single {
			recentre(s.best[pos:min(pos+m.longest+1, len(s.best))])
		}
		score := s.best[pos].score
		_, size := utf8.DecodeRune(piece[pos:])
		single := false
		node := int32(0)
		for i := pos; i < len(piece); i++ {
			if node = m.trie.step(node, piece[i]); node == 0 {
				break
			}
			if id := m.trie.value[node]; id >= 0 {
				s.best[i+1].offer(score+m.scores[id], pos, id, m.single)
				single = single || i+1 == pos+size
			}
		}
		if !single {
			s.best[pos+size].offer(score+m.unkScore, pos, m.unk, m.single)
		}
		pos += size
	}
}

// farScore is how far scores go from 0 before they start there anew: in 32 bits
// those of a long text would have no digits left for differences.
const farScore = 1e5

// recentre takes the score of the first position off all that are known: none
// lies further on than the longest token.
func recentre(list []best) {
	by := list[0].score
	if by >= -farScore && by <= farScore {
		return
	}
	list[0].score = 0
	for i := 1; i < len(list); i++ {
		if list[i].from >= 0 {
			list[i].score = float64(float32(list[i].score - by))
		}
	}
}

func (b *best) offer(score float64, from int, id int32, single bool) {
	if single {
		score = float64(float32(score))
	}
	if b.from < 0 || score > b.score {
		*b = best{score, int32(from), id}
	}
}

// unknowns joins neighbouring unknown characters of dst from n on, and puts
// tokens of bytes for them if the vocabulary has those.
func (m *unigram) unknowns(dst []tok, n int, piece []byte) ([]tok, error) {
	if !slices.ContainsFunc(dst[n:], func(t tok) bool { return t.id == m.unk }) {
		return dst, nil
	}
	old := slices.Clone(dst[n:])
	dst = dst[:n]
	for i := 0; i < len(old); i++ {
		t := old[i]
		if t.id != m.unk {
			dst = append(dst, t)
			continue
		}
		for i+1 < len(old) && old[i+1].id == m.unk {
			i++
			t.hi = old[i].hi
		}
		dst = m.fallback(dst, t, piece[t.lo:t.hi])
	}
	return dst, nil
}

func (m *unigram) fallback(dst []tok, t tok, b []byte) []tok {
	if id, ok := m.ids[string(b)]; ok && !m.single {
		return append(dst, tok{id, t.lo, t.hi})
	}
	n := len(dst)
	for _, c := range b {
		if m.bytes == nil || m.bytes[c] < 0 {
			return append(dst[:n], t)
		}
		dst = append(dst, tok{m.bytes[c], t.lo, t.hi})
	}
	return dst
}
