package metal

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
)

// functions are the addresses of C functions.
type functions struct {
	getClass, registerName, msgSend, push, pop, copyAllDevices uintptr
}

// selectors are the messages that objects are sent.
type selectors struct {
	retain, release, responds, instancesRespond, new                                      uintptr
	count, objectAt, stringWith, utf8, code, description, stringValue, valueForKey        uintptr
	arrayWith, fileURL, processInfo, systemVersion                                        uintptr
	name, workingSet, sharedLength, supportsFamily, unified, architecture                 uintptr
	newQueue, newEvent, newBuffer, newLibrary, openLibrary                                uintptr
	newArchive, newPipeline, newPipelineWith                                              uintptr
	setFastMath, setMathMode, setLanguage, newFunction, functionNames                     uintptr
	maxThreads, width, static                                                             uintptr
	setURL, setFunction, setArchives, addFunctions, serialize                             uintptr
	contents, gpuAddress, setSignaled, waitValue, commandBuffer, compute, blit, waitFor   uintptr
	signal, commit, waitDone, status, error, setPipeline, setBytes, useResource, dispatch uintptr
	setShared                                                                             uintptr
	endEncoding, copy, fill                                                               uintptr
}

// classes are those that are sent messages themselves.
type classes struct {
	str, array, url, process                       uintptr // of Foundation
	options, pipelineDescriptor, archiveDescriptor uintptr
}

// library is the Objective-C runtime with Metal.
type library struct {
	functions
	selectors
	classes
	name string
}

func (s *selectors) table() map[string]*uintptr {
	return map[string]*uintptr{
		"retain": &s.retain, "release": &s.release, "respondsToSelector:": &s.responds, "instancesRespondToSelector:": &s.instancesRespond, "new": &s.new,
		"count": &s.count, "objectAtIndex:": &s.objectAt, "stringWithUTF8String:": &s.stringWith, "UTF8String": &s.utf8, "code": &s.code,
		"localizedDescription": &s.description, "stringValue": &s.stringValue, "valueForKey:": &s.valueForKey,
		"arrayWithObject:": &s.arrayWith, "fileURLWithPath:": &s.fileURL, "processInfo": &s.processInfo, "operatingSystemVersionString": &s.systemVersion,
		"name": &s.name, "recommendedMaxWorkingSetSize": &s.workingSet, "maxThreadgroupMemoryLength": &s.sharedLength,
		"supportsFamily:": &s.supportsFamily, "hasUnifiedMemory": &s.unified, "architecture": &s.architecture,
		"newCommandQueueWithMaxCommandBufferCount:": &s.newQueue, "newSharedEvent": &s.newEvent, "newBufferWithLength:options:": &s.newBuffer,
		"newLibraryWithSource:options:error:": &s.newLibrary, "newLibraryWithURL:error:": &s.openLibrary, "newBinaryArchiveWithDescriptor:error:": &s.newArchive,
		"newComputePipelineStateWithFunction:error:": &s.newPipeline, "newComputePipelineStateWithDescriptor:options:reflection:error:": &s.newPipelineWith,
		"setFastMathEnabled:": &s.setFastMath, "setMathMode:": &s.setMathMode, "setLanguageVersion:": &s.setLanguage, "newFunctionWithName:": &s.newFunction,
		"functionNames": &s.functionNames, "setUrl:": &s.setURL, "setComputeFunction:": &s.setFunction, "setBinaryArchives:": &s.setArchives,
		"addComputePipelineFunctionsWithDescriptor:error:": &s.addFunctions, "serializeToURL:error:": &s.serialize,
		"maxTotalThreadsPerThreadgroup": &s.maxThreads, "threadExecutionWidth": &s.width, "staticThreadgroupMemoryLength": &s.static,
		"contents": &s.contents, "gpuAddress": &s.gpuAddress, "setSignaledValue:": &s.setSignaled, "waitUntilSignaledValue:timeoutMS:": &s.waitValue, "commandBuffer": &s.commandBuffer,
		"computeCommandEncoder": &s.compute, "blitCommandEncoder": &s.blit, "encodeWaitForEvent:value:": &s.waitFor, "encodeSignalEvent:value:": &s.signal,
		"commit": &s.commit, "waitUntilCompleted": &s.waitDone, "status": &s.status, "error": &s.error,
		"setComputePipelineState:": &s.setPipeline, "setBytes:length:atIndex:": &s.setBytes, "setThreadgroupMemoryLength:atIndex:": &s.setShared, "useResource:usage:": &s.useResource,
		"dispatchThreadgroups:threadsPerThreadgroup:": &s.dispatch, "endEncoding": &s.endEncoding,
		"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:": &s.copy, "fillBuffer:range:value:": &s.fill,
	}
}

func (c *classes) table() map[string]*uintptr {
	return map[string]*uintptr{
		"NSString": &c.str, "NSArray": &c.array, "NSURL": &c.url, "NSProcessInfo": &c.process,
		"MTLCompileOptions": &c.options, "MTLComputePipelineDescriptor": &c.pipelineDescriptor, "MTLBinaryArchiveDescriptor": &c.archiveDescriptor,
	}
}

// load opens the libraries, which names gives one after the other.
func load(names []string) (*library, error) {
	l := &library{}
	want := map[string]*uintptr{
		"objc_getClass": &l.getClass, "sel_registerName": &l.registerName, "objc_msgSend": &l.msgSend,
		"objc_autoreleasePoolPush": &l.push, "objc_autoreleasePoolPop": &l.pop, "MTLCopyAllDevices": &l.copyAllDevices,
	}
	for _, name := range names {
		lib, err := dl.Open(name)
		if err != nil {
			return nil, err
		}
		l.name = lib.Name()
		for symbol, at := range want {
			if addr, err := lib.Sym(symbol); err == nil {
				*at = addr
				delete(want, symbol)
			}
		}
	}
	for symbol := range want {
		return nil, fmt.Errorf("the function %s is not in %v", symbol, names)
	}
	for name, at := range l.selectors.table() {
		*at = call(l.registerName, pointer(cstring(name)))
	}
	for name, at := range l.classes.table() {
		if *at = call(l.getClass, pointer(cstring(name))); *at == 0 {
			return nil, fmt.Errorf("the class %s is missing", name)
		}
	}
	return l, nil
}

//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr { return dl.Call(fn, args) }

// send sends a message with words as arguments.
//
//go:uintptrescapes
func (l *library) send(object, selector uintptr, args ...uintptr) uintptr {
	return dl.Call(l.msgSend, append([]uintptr{object, selector}, args...))
}

// pool opens an autorelease pool on this thread; the function that it returns closes
// it.
func (l *library) pool() func() {
	goruntime.LockOSThread()
	token := call(l.push)
	return func() {
		call(l.pop, token)
		goruntime.UnlockOSThread()
	}
}

// string makes an NSString, which lives as long as the pool.
func (l *library) string(s string) uintptr { return l.send(l.str, l.stringWith, pointer(cstring(s))) }

// text is what an NSString holds.
func (l *library) text(s uintptr) string { return dl.Text(l.send(s, l.utf8)) }

// has reports whether an object has a method.
func (l *library) has(object, selector uintptr) bool {
	return l.send(object, l.responds, selector)&0xff != 0
}

func cstring(s string) *byte { return &append([]byte(s), 0)[0] }

func pointer(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }
