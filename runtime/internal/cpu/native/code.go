package native

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// ErrClosed says that code was used after it was closed.
var ErrClosed = errors.New("the code was unloaded")

// Code is executable memory. It is written first and made executable then, so
// that no page is ever both.
type Code struct {
	m       *mapping
	cleanup runtime.Cleanup
}

// NewCode returns a copy of code in executable memory, at a multiple of the
// system's page size. name is for profilers.
func NewCode(name string, code []byte) (*Code, error) {
	if !Supported {
		return nil, fmt.Errorf("native code cannot run in a program for %s", runtime.GOARCH)
	}
	if len(code) == 0 {
		return nil, errors.New("native code without a byte")
	}
	mem, err := mapWritable(len(code))
	if err != nil {
		return nil, fmt.Errorf("memory for %d bytes of native code: %w", len(code), err)
	}
	copy(mem, code)
	if err := makeExecutable(mem); err != nil {
		unmap(mem)
		return nil, fmt.Errorf("the system does not let memory be made executable: %w", err)
	}
	c := &Code{m: &mapping{mem: mem}}
	// Modules are closed by their owners; this is for one that was forgotten.
	c.cleanup = runtime.AddCleanup(c, (*mapping).close, c.m)
	perfMap.add(c.Base(), len(code), name)
	return c, nil
}

// Base is the address of the code.
func (c *Code) Base() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(c.m.mem))) }

// Close unmaps the memory, or has its last user do so if the code is running.
func (c *Code) Close() {
	c.cleanup.Stop()
	c.m.close()
}

// mapping is memory that is unmapped when it is closed and nobody uses it.
type mapping struct {
	mem []byte

	mu     sync.Mutex
	users  int
	closed bool
}

func (m *mapping) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed && m.users == 0 {
		unmap(m.mem)
	}
	m.closed = true
}

// acquire keeps the memory mapped until release.
func (m *mapping) acquire() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.users++
	return nil
}

func (m *mapping) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users == 0 && m.closed {
		unmap(m.mem)
	}
}
