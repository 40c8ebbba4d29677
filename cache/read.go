package cache

// Read returns the entry of k or says what is wrong, which is fs.ErrNotExist if there is none. It
// is for looking into a store: unlike [Store.Get] it is no use of the entry, and
// removes nothing.
func (s *Store) Read(k Key) (*Entry, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	_, file := s.path(k)
	e, _, err := s.readEntry(file, k)
	if err != nil {
		return nil, Problem{file, err}
	}
	return e, nil
}
