package safetensors

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gokiln/kiln/tensor/file"
)

// Limits on what a text can make of a few bytes.
const (
	maxDepth = 100     // of values within each other
	maxNames = 1 << 20 // of an object
)

// scanner goes through JSON token by token and knows where it is.
type scanner struct {
	name string // of the file
	base int64  // of the text in the file
	text []byte
	dec  *json.Decoder
}

func newScanner(name string, base int64, text []byte) (*scanner, error) {
	s := &scanner{name: name, base: base, text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	s.dec.UseNumber()
	if !utf8.Valid(text) {
		at := 0
		for at < len(text) {
			r, n := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, file.Fault(name, base+int64(at), file.ErrFormat, "the text is not UTF-8")
	}
	return s, nil
}

// pos is where the next token begins in the file.
func (s *scanner) pos() int64 {
	at := s.dec.InputOffset()
	for at < int64(len(s.text)) && bytes.IndexByte([]byte(" \t\r\n,:"), s.text[at]) >= 0 {
		at++
	}
	return s.base + at
}

// fault is an error at a byte of the file.
func (s *scanner) fault(at int64, format string, args ...any) error {
	return file.Fault(s.name, at, file.ErrFormat, format, args...)
}

func (s *scanner) token() (json.Token, error) {
	at := s.pos()
	t, err := s.dec.Token()
	switch err {
	case nil:
		return t, nil
	case io.EOF, io.ErrUnexpectedEOF:
		return nil, s.fault(s.base+int64(len(s.text)), "the text ends too early")
	}
	return nil, s.fault(at, "%v", err)
}

// delim reads a bracket.
func (s *scanner) delim(want json.Delim, what string) error {
	at := s.pos()
	t, err := s.token()
	if err == nil && t != want {
		err = s.fault(at, "%s must begin with %s", what, want)
	}
	return err
}

// str reads a string.
func (s *scanner) str(what string) (string, error) {
	at := s.pos()
	t, err := s.token()
	if err != nil {
		return "", err
	}
	text, ok := t.(string)
	if !ok {
		return "", s.fault(at, "%s must be a string", what)
	}
	return text, nil
}

// number reads a size.
func (s *scanner) number(what string) (int, error) {
	at := s.pos()
	t, err := s.token()
	if err != nil {
		return 0, err
	}
	digits, ok := t.(json.Number)
	if !ok {
		return 0, s.fault(at, "%s must be numbers", what)
	}
	n, err := strconv.ParseUint(digits.String(), 10, strconv.IntSize-1)
	if err != nil {
		return 0, s.fault(at, "%s must be whole numbers of %d bits, not %s", what, strconv.IntSize-1, digits)
	}
	return int(n), nil
}

// numbers reads a list of sizes, of which there may be no more than most.
func (s *scanner) numbers(what string, most int) ([]int, error) {
	if err := s.delim('[', what); err != nil {
		return nil, err
	}
	list := []int{}
	for s.dec.More() {
		if len(list) == most {
			return nil, s.fault(s.pos(), "%s has more than %d numbers", what, most)
		}
		n, err := s.number(what)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	_, err := s.token()
	return list, err
}

// object reads an object, whose keys must differ. It calls field for each key, which
// reads the value. Errors call it what, and the name.
func (s *scanner) object(what, name string, field func(at int64, key string) error) error {
	if err := s.delim('{', what); err != nil {
		return err
	}
	var seen keys
	for s.dec.More() {
		at := s.pos()
		key, err := s.str("a name")
		if err != nil {
			return err
		}
		if seen.n++; seen.n > maxNames {
			return s.fault(at, "%s%s has more than %d names", what, name, maxNames)
		}
		if !seen.add(key) {
			return s.fault(at, "%s%s has %q twice", what, name, key)
		}
		if err := field(at, key); err != nil {
			return err
		}
	}
	_, err := s.token()
	return err
}

// keys is the keys of an object, of which most have few.
type keys struct {
	n    int
	few  []string
	many map[string]bool
	room [8]string
}

// add reports whether a key is new.
func (k *keys) add(key string) bool {
	if k.many == nil {
		if slices.Contains(k.few, key) {
			return false
		}
		if len(k.few) < len(k.room) {
			k.few = append(k.room[:len(k.few)], key)
			return true
		}
		k.many = map[string]bool{}
		for _, f := range k.few {
			k.many[f] = true
		}
	}
	if k.many[key] {
		return false
	}
	k.many[key] = true
	return true
}

// skip reads a value that nobody needs.
func (s *scanner) skip() error {
	for depth := 0; ; {
		at := s.pos()
		t, err := s.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return s.fault(at, "values within each other more than %d times", maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// texts reads an object of strings; other values are kept as they are written if loose.
func (s *scanner) texts(what string, loose bool, into map[string]string) error {
	return s.object(what, "", func(_ int64, key string) error {
		at := s.pos()
		begin := at - s.base
		if begin < int64(len(s.text)) && s.text[begin] != '"' && loose {
			if err := s.skip(); err != nil {
				return err
			}
			into[key] = string(s.text[begin:s.dec.InputOffset()])
			return nil
		}
		value, err := s.str(what + ": the value of " + strconv.Quote(key))
		into[key] = value
		return err
	})
}

// end reports what is behind the value.
func (s *scanner) end() error {
	rest := s.text[s.dec.InputOffset():]
	if i := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n")); i < len(rest) {
		return s.fault(s.base+s.dec.InputOffset()+int64(i), "there is more behind the end of the text")
	}
	return nil
}
