import queue
import threading

jobs, results = queue.Queue(16), queue.Queue(16)


def work():
    while True:
        n = jobs.get()
        if n is None:
            break
        results.put(n * n)


def feed():
    for i in range(20000):
        jobs.put(i)
    for _ in workers:
        jobs.put(None)
    for w in workers:
        w.join()
    results.put(None)


workers = [threading.Thread(target=work) for _ in range(4)]
for w in workers:
    w.start()
threading.Thread(target=feed).start()
total = 0
while True:
    r = results.get()
    if r is None:
        break
    total += r
print(total)
