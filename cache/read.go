package cache

import (
	"fmt"
	"os"
)

// Read returns the entry of k or says what is wrong, which is fs.ErrNotExist if there is none. It
// is for looking into a store: unlike [Store.Get] it is no use of the entry, and
// removes nothing.
func (s *Store) Read(k Key) (*Entry, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	_, file := s.path(k)
	info, err := os.Lstat(file) // opening a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEntryBytes {
		return nil, Problem{file, fmt.Errorf("%w: mode %v, %d bytes", errDamaged, info.Mode(), info.Size())}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e, err := decode(data, k)
	if err != nil {
		return nil, Problem{file, fmt.Errorf("%w: %w", errDamaged, err)}
	}
	return e, nil
}
