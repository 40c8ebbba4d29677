package tokenizers

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Stream decodes ids one by one, as a model makes them. It belongs to one
// goroutine.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	ids         []int32 // of the last text that was returned, and those behind it
	done        int     // how many of ids that text is of
	text        string  // of ids[:done]
}

// Stream returns a decoder of ids that come one after the other. The texts
// that it returns put together are that of all ids.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream {
	return &Stream{t: t, skipSpecial: skipSpecial}
}

// pending is how many ids wait for the end of a character at most. One of four
// bytes takes three; a run of bytes that never becomes a character would wait
// for ever.
const pending = 8

// Next takes an id and returns the text that it completes, which is empty as
// long as bytes of a character are missing. An id that has no token completes
// nothing and is an error, which does not end the stream.
func (s *Stream) Next(id int32) (string, error) {
	if _, ok := s.t.Token(id); !ok {
		_, err := s.t.Decode([]int32{id}, false)
		return "", err
	}
	if s.skipSpecial && s.t.IsSpecial(id) {
		return "", nil
	}
	s.ids = append(s.ids, id)
	return s.advance(len(s.ids)-s.done > pending)
}

// Flush returns what is left at the end: replacement characters for bytes of a
// character that was not completed.
func (s *Stream) Flush() (string, error) {
	out, err := s.advance(true)
	*s = Stream{t: s.t, skipSpecial: s.skipSpecial}
	return out, err
}

// advance returns the text behind the one that was returned. Ids before it are
// decoded with it, since the text of a token can depend on what is in front.
func (s *Stream) advance(all bool) (string, error) {
	whole, err := s.t.Decode(s.ids, false)
	if err != nil && !errors.Is(err, ErrNoToken) {
		return "", err
	}
	if !all && strings.HasSuffix(whole, string(utf8.RuneError)) {
		return "", nil
	}
	out, ok := strings.CutPrefix(whole, s.text)
	if !ok {
		// What follows changed what was returned already, which bytes of a broken character
		// do: go on with the new ids alone.
		if out, err = s.t.Decode(s.ids[s.done:], false); err != nil {
			return "", err
		}
	}
	if out == "" {
		return "", nil
	}
	return out, s.settle()
}

// settle keeps the ids of the text that was just returned.
func (s *Stream) settle() error {
	n := copy(s.ids, s.ids[s.done:])
	s.ids, s.done = s.ids[:n], n
	var err error
	s.text, err = s.t.Decode(s.ids, false)
	return err
}
