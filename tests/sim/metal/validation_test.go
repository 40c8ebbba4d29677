package metal_test

import (
	"fmt"
	goruntime "runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/tests/sim/metal"
)

// objc calls methods of the stand-in's objects, as Metal allows and otherwise.
type objc struct {
	t   *testing.T
	sim *metal.Library

	class, selector, message, push, pop, devices uintptr
}

func newObjc(t *testing.T) *objc { return newObjcFor(t, metal.Open(t)) }

// newObjcFor keeps the test on its thread, which autorelease pools belong to.
func newObjcFor(t *testing.T, sim *metal.Library) *objc {
	goruntime.LockOSThread()
	t.Cleanup(goruntime.UnlockOSThread)
	o := &objc{t: t, sim: sim}
	lib, err := dl.Open(o.sim.Path)
	require.NoError(t, err)
	for name, at := range map[string]*uintptr{
		"objc_getClass": &o.class, "sel_registerName": &o.selector, "objc_msgSend": &o.message,
		"objc_autoreleasePoolPush": &o.push, "objc_autoreleasePoolPop": &o.pop, "MTLCopyAllDevices": &o.devices,
	} {
		*at, err = lib.Sym(name)
		require.NoError(t, err)
	}
	return o
}

//go:uintptrescapes
func (o *objc) send(object uintptr, selector string, args ...uintptr) uintptr {
	name := append([]byte(selector), 0)
	sel := dl.Call(o.selector, []uintptr{uintptr(unsafe.Pointer(&name[0]))})
	return dl.Call(o.message, append([]uintptr{object, sel}, args...))
}

func (o *objc) classed(name string) uintptr {
	text := append([]byte(name), 0)
	return dl.Call(o.class, []uintptr{uintptr(unsafe.Pointer(&text[0]))})
}

func (o *objc) text(s string) uintptr {
	text := append([]byte(s), 0)
	return o.send(o.classed("NSString"), "stringWithUTF8String:", uintptr(unsafe.Pointer(&text[0])))
}

// dispatch sends sizes on the stack, as the driver does.
func (o *objc) dispatch(encoder uintptr, grid, block [3]uintptr) {
	o.send(encoder, "dispatchThreadgroups:threadsPerThreadgroup:", 0, 0, 0, 0, grid[0], grid[1], grid[2], block[0], block[1], block[2])
}

// bench is a device with what most calls need. Its objects are released at the end.
type bench struct {
	*objc
	device, queue, buffer, library, function, state uintptr
}

const twoBuffers = `#include <metal_stdlib>
struct args { device int* p; long n; };
kernel void k(constant args& a [[buffer(0)]], device int* q [[buffer(3)]]) { if (a.n > 1000) q[0] = a.p[0]; }
`

func (o *objc) bench() *bench {
	b := &bench{objc: o}
	list := dl.Call(o.devices, nil)
	b.device = o.send(o.send(list, "objectAtIndex:", 0), "retain")
	o.send(list, "release")
	b.queue = o.send(b.device, "newCommandQueueWithMaxCommandBufferCount:", 2)
	b.buffer = o.send(b.device, "newBufferWithLength:options:", 100, 0)
	b.library = o.send(b.device, "newLibraryWithSource:options:error:", o.text(twoBuffers), 0, 0)
	b.function = o.send(b.library, "newFunctionWithName:", o.text("k"))
	b.state = o.send(b.device, "newComputePipelineStateWithFunction:error:", b.function, 0)
	require.NotZero(o.t, b.state)
	return b
}

func (b *bench) release() {
	for _, object := range []uintptr{b.state, b.function, b.library, b.buffer, b.queue, b.device} {
		b.send(object, "release")
	}
}

// encoder opens a compute encoder with the kernel set.
func (b *bench) encoder() uintptr {
	e := b.send(b.send(b.queue, "commandBuffer"), "computeCommandEncoder")
	b.send(e, "setComputePipelineState:", b.state)
	return e
}

// bytes sets an argument of so many bytes.
func (b *bench) bytes(encoder, n, index uintptr) {
	content := make([]byte, 5000)
	b.send(encoder, "setBytes:length:atIndex:", uintptr(unsafe.Pointer(&content[0])), n, index)
}

// What Metal's validation layer ends a program for is reported, and nothing else.
func TestRules(t *testing.T) {
	one := [3]uintptr{1, 1, 1}
	for _, c := range []struct {
		name, want string
		do         func(b *bench)
	}{
		{"right", "", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 16, 0)
			b.send(e, "setBuffer:offset:atIndex:", b.buffer, 96, 3)
			b.dispatch(e, one, [3]uintptr{32, 4, 8})
			b.send(e, "endEncoding")
		}},
		{"index", "setBytes:length:atIndex:: index 31 is out of range: there are 31 buffers", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 16, 31)
			b.send(e, "endEncoding")
		}},
		{"no bytes", "the length 0 is not between 1 and 4096", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 0, 0)
			b.send(e, "endEncoding")
		}},
		{"many bytes", "the length 4097 is not between 1 and 4096", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 4097, 0)
			b.send(e, "endEncoding")
		}},
		{"missing block", "missing buffer binding at index 0 for a", func(b *bench) {
			e := b.encoder()
			b.send(e, "setBuffer:offset:atIndex:", b.buffer, 0, 3)
			b.dispatch(e, one, one)
			b.send(e, "endEncoding")
		}},
		{"missing buffer", "missing buffer binding at index 3 for q", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 16, 0)
			b.dispatch(e, one, one)
			b.send(e, "endEncoding")
		}},
		{"wrong index", "missing buffer binding at index 3 for q", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 16, 0)
			b.send(e, "setBuffer:offset:atIndex:", b.buffer, 0, 2)
			b.dispatch(e, one, one)
			b.send(e, "endEncoding")
		}},
		{"short block", "argument a from buffer 0 needs 16 bytes, and has 15", func(b *bench) {
			e := b.encoder()
			b.bytes(e, 15, 0)
			b.send(e, "setBuffer:offset:atIndex:", b.buffer, 0, 3)
			b.dispatch(e, one, one)
			b.send(e, "endEncoding")
		}},
		{"offset", "the offset is behind the end of the buffer", func(b *bench) {
			e := b.encoder()
			b.send(e, "setBuffer:offset:atIndex:", b.buffer, 100, 3)
			b.send(e, "endEncoding")
		}},
		{"threadgroup", "a threadgroup of 1025 threads; the pipeline state has maxTotalThreadsPerThreadgroup 1024", func(b *bench) {
			e := b.encoder()
			b.dispatch(e, one, [3]uintptr{41, 25, 1})
			b.send(e, "endEncoding")
		}},
		{"empty", "the grid or the threadgroup is empty", func(b *bench) {
			e := b.encoder()
			b.dispatch(e, [3]uintptr{1, 0, 1}, one)
			b.send(e, "endEncoding")
		}},
		{"no state", "no pipeline state is set", func(b *bench) {
			e := b.send(b.send(b.queue, "commandBuffer"), "computeCommandEncoder")
			b.dispatch(e, one, one)
			b.send(e, "endEncoding")
		}},
		{"selector", "-[MTLBuffer setLable:]: unrecognized selector", func(b *bench) { b.send(b.buffer, "setLable:", b.text("x")) }},
		{"class selector", "+[NSString stringWithUTF9String:]: unrecognized selector", func(b *bench) { b.send(b.classed("NSString"), "stringWithUTF9String:", 0) }},
		{"selector of another class", "-[MTLBlitCommandEncoder setComputePipelineState:]: unrecognized selector", func(b *bench) {
			e := b.send(b.send(b.queue, "commandBuffer"), "blitCommandEncoder")
			b.send(e, "setComputePipelineState:", b.state)
			b.send(e, "endEncoding")
		}},
		{"gone", "message length to a MTLBuffer that was deallocated", func(b *bench) {
			x := b.send(b.device, "newBufferWithLength:options:", 4, 0)
			b.send(x, "release")
			b.send(x, "length")
		}},
		{"not ended", "commit: an encoder has not ended", func(b *bench) {
			cb := b.send(b.queue, "commandBuffer")
			e := b.send(cb, "blitCommandEncoder")
			b.send(cb, "commit")
			b.send(e, "endEncoding")
		}},
		{"dropped encoder", "MTLComputeCommandEncoder deallocated before endEncoding", func(b *bench) { b.encoder() }},
		{"two encoders", "another encoder of the command buffer has not ended", func(b *bench) {
			cb := b.send(b.queue, "commandBuffer")
			e, f := b.send(cb, "blitCommandEncoder"), b.send(cb, "computeCommandEncoder")
			b.send(e, "endEncoding")
			b.send(f, "endEncoding")
		}},
		{"after the end", "-[MTLBlitCommandEncoder fillBuffer:range:value:]: after endEncoding", func(b *bench) {
			e := b.send(b.send(b.queue, "commandBuffer"), "blitCommandEncoder")
			b.send(e, "endEncoding")
			b.send(e, "fillBuffer:range:value:", b.buffer, 0, 4, 0)
		}},
		{"commit twice", "commit: the command buffer was committed before", func(b *bench) {
			cb := b.send(b.queue, "commandBuffer")
			b.send(cb, "commit")
			b.send(cb, "commit")
			b.send(cb, "waitUntilCompleted")
		}},
		{"wait for nothing", "waitUntilCompleted: the command buffer was not committed", func(b *bench) {
			b.send(b.send(b.queue, "commandBuffer"), "waitUntilCompleted")
		}},
		{"full queue", "commandBuffer: the queue has 2 command buffers that are not completed", func(b *bench) {
			for range 3 {
				b.send(b.queue, "commandBuffer")
			}
		}},
		{"blit", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:: the range is not inside of the buffer", func(b *bench) {
			e := b.send(b.send(b.queue, "commandBuffer"), "blitCommandEncoder")
			b.send(e, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", b.buffer, 0, b.buffer, 99, 2)
			b.send(e, "endEncoding")
		}},
		{"resource", "useResource:usage: wrong resource or usage", func(b *bench) {
			e := b.encoder()
			b.send(e, "useResource:usage:", b.buffer, 8)
			b.send(e, "endEncoding")
		}},
		{"no length", "newBufferWithLength: the length is zero", func(b *bench) { b.send(b.device, "newBufferWithLength:options:", 0, 0) }},
		{"storage", "newBufferWithLength:options: wrong options 48", func(b *bench) { b.send(b.device, "newBufferWithLength:options:", 4, 48) }},
		{"private", "contents: the buffer is private", func(b *bench) {
			x := b.send(b.device, "newBufferWithLength:options:", 4, 32)
			b.send(x, "contents")
			b.send(x, "release")
		}},
		{"array", "index 1 beyond bounds", func(b *bench) {
			b.send(b.send(b.classed("NSArray"), "arrayWithObject:", b.buffer), "objectAtIndex:", 1)
		}},
		{"key", "the class is not key value coding-compliant for the key Time", func(b *bench) {
			b.send(b.send(b.queue, "commandBuffer"), "valueForKey:", b.text("Time"))
		}},
		{"no function", "computeFunction must not be nil", func(b *bench) {
			d := b.send(b.classed("MTLComputePipelineDescriptor"), "new")
			b.send(b.device, "newComputePipelineStateWithDescriptor:options:reflection:error:", d, 0, 0, 0)
			b.send(d, "release")
		}},
		{"no URL", "serializeToURL:error:: wants a URL", func(b *bench) {
			d := b.send(b.classed("MTLBinaryArchiveDescriptor"), "new")
			a := b.send(b.device, "newBinaryArchiveWithDescriptor:error:", d, 0)
			b.send(a, "serializeToURL:error:", b.text("never-written"), 0)
			b.send(a, "release")
			b.send(d, "release")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newObjc(t)
			pool := dl.Call(o.push, nil)
			b := o.bench()
			c.do(b)
			b.release()
			dl.Call(o.pop, []uintptr{pool})
			if problems := o.sim.Problems(); c.want == "" {
				require.Empty(t, problems)
			} else {
				require.Contains(t, problems, c.want)
			}
		})
	}
}

// Objects live until their pool is drained and their last reference is released.
func TestReferences(t *testing.T) {
	o := newObjc(t)
	leaked := o.text("retained by a pool that is missing")
	require.Contains(t, o.sim.Problems(), "a NSString is autoreleased with no pool in place: it leaks")
	require.Equal(t, "1 NSString\n", o.sim.Alive())
	o.send(leaked, "release")
	require.Empty(t, o.sim.Alive())

	outer := dl.Call(o.push, nil)
	inner := dl.Call(o.push, nil)
	s := o.text("x")
	dl.Call(o.pop, []uintptr{outer})
	require.Contains(t, o.sim.Problems(), "not the innermost pool of this thread")
	dl.Call(o.pop, []uintptr{inner})
	dl.Call(o.pop, []uintptr{outer})
	o.send(s, "release")
	require.Contains(t, o.sim.Problems(), "message release to a NSString that was deallocated")

	pool := dl.Call(o.push, nil)
	d := o.bench()
	require.Contains(t, o.sim.Alive(), "MTLDevice with 1 references too many\n")
	o.send(d.buffer, "retain")
	d.release()
	require.Contains(t, o.sim.Alive(), "1 MTLBuffer\n")
	o.send(d.buffer, "release")
	require.NotContains(t, o.sim.Alive(), "MTLBuffer")
	dl.Call(o.pop, []uintptr{pool})
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	cleanups []func()
	failures []string
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, a...))
}

// A test in which a rule is broken, or which leaves objects behind, has failed.
func TestProblemsFailTheTest(t *testing.T) {
	r := &recorder{TB: t}
	o := newObjcFor(t, metal.Open(r))
	s := o.text("x")
	for _, f := range r.cleanups {
		f()
	}
	require.Equal(t, []string{
		"Metal's rules were broken:\na NSString is autoreleased with no pool in place: it leaks\n",
		"objects of Metal were not released:\n1 NSString\n",
	}, r.failures)
	o.send(s, "release")
}
