package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// ErrNoLock says that a directory has no locks.
var ErrNoLock = errors.New("no locks here")

// Lock waits until no other process has the lock of a file, which is a file beside it. It ends
// with unlock, or with the process. Whoever gets it in vain for wait gets an error, which is
// [ErrNoLock] where there is none to be had at all.
func Lock(name string, wait time.Duration) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	// The system queues those that wait, which asking again and again would not; a wait in
	// the system cannot be ended, so whoever gives up leaves it behind.
	got, quit := make(chan result), make(chan struct{})
	go func() {
		var r result
		r.unlock, r.err = lock(name)
		select {
		case got <- r:
		case <-quit:
			if r.err == nil {
				r.unlock()
			}
		}
	}()
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case r := <-got:
		return r.unlock, r.err
	case <-timeout.C:
		close(quit)
		return nil, fmt.Errorf("%s has been locked by another process for %v; end that one, or remove the file if there is none", name, wait)
	}
}

func lock(name string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoLock, err), f.Close())
		}
		if mine, err := current(f, name); err != nil || !mine {
			if cerr := f.Close(); err != nil {
				return nil, errors.Join(err, cerr)
			}
			continue
		}
		return sync.OnceFunc(func() {
			_ = os.Remove(name) // while it is ours: nobody else can have locked this file
			_ = f.Close()
		}), nil
	}
}

// current reports whether an open file is still the one of its name. Who had its lock before
// has removed it.
func current(f *os.File, name string) (bool, error) {
	have, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(have, there), err
}
