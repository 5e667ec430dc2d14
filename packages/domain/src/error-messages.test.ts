import { describe, expect, it } from 'vitest'
import { errorPattern } from './error-pattern.js'

/** Messages as libraries write them. Each row: occurrences of one error; no two rows are one. */
const rows: readonly (readonly [of: string, ...messages: string[]])[] = [
  [
    'Node, a file that is not there',
    'ENOENT: no such file or directory, open /var/data/2026/01/x.csv',
    'ENOENT: no such file or directory, open /srv/imports/ada.csv',
    'ENOENT: no such file or directory, open ./out/report-final.csv',
    'ENOENT: no such file or directory, open C:\\Users\\ada\\in.csv',
    'ENOENT: no such file or directory, open C:\\Program Files\\App\\in.csv',
    'ENOENT: no such file or directory, open \\\\nas-2\\share\\in.csv',
    'ENOENT: no such file or directory, open uploads/7/ada.tar.gz',
  ],
  [
    'Node, a file that is not for us',
    'EACCES: permission denied, open /var/data/2026/01/x.csv',
    'EACCES: permission denied, open /etc/shadow',
  ],
  [
    'Node, a quoted path',
    "ENOENT: no such file or directory, stat '/var/data/a'",
    "ENOENT: no such file or directory, stat '/etc/b'",
  ],
  [
    'Node, refused',
    'connect ECONNREFUSED 127.0.0.1:5432',
    'connect ECONNREFUSED 10.1.2.3:5432',
    'connect ECONNREFUSED 192.168.7.12:6379',
  ],
  [
    'Node, refused by IPv6',
    'connect ECONNREFUSED [::1]:5432',
    'connect ECONNREFUSED [fe80::1ff:fe23:4567:890a%eth0]:5432',
    'connect ECONNREFUSED [::ffff:10.0.0.1]:80',
  ],
  [
    'Node, no such host',
    'getaddrinfo ENOTFOUND db-3.internal.example.com',
    'getaddrinfo ENOTFOUND db-17.internal.example.com',
  ],
  ['Node, another host', 'getaddrinfo ENOTFOUND api.example.com'],
  [
    'Kubernetes',
    'pod web-7d9f8b6c5d-x2x7q was evicted',
    'pod web-5c8b4f9d7f-bcdfg was evicted',
    'pod web-66b6c48dd5-98765 was evicted',
  ],
  ['Kubernetes, another deployment', 'pod api-7d9f8b6c5d-x2x7q was evicted'],
  ['Kubernetes, a daemon set', 'pod fluentd-x2x7q was evicted', 'pod fluentd-9k4zt was evicted'],
  ['Kubernetes, a job by schedule', 'pod backup-28391040-x2x7q failed', 'pod backup-28392480-bcdfg failed'],
  [
    'a token',
    'invalid token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl',
    'invalid token eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJncmFjZSIsImlhdCI6MX0.Zm9v-YmFy_x',
  ],
  [
    'base 64',
    'can not decode aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBsb25n/IGJvZHk+MTIzNDU2Nzg5MA==',
    'can not decode U29tZSBvdGhlciBib2R5IHdpdGggbW9yZSBpbiBpdA+x9Zk2/Qm1Lc3RhdHVz',
  ],
  ['e-mail', 'no mailbox for ada@example.com', 'no mailbox for grace%40mail.example.org'],
  [
    'a URL with a query',
    'GET https://api.example.com/v1/users/7/orders?page=2&q=a failed',
    'GET https://api.example.com/v1/users/812/orders?page=3#top failed',
  ],
  ['a URL with another path', 'GET https://api.example.com/v1/users/7/carts failed'],
  [
    'a URL of a file',
    'can not download https://cdn.example.com/2026/01/ada.png',
    'can not download https://cdn.example.com/latest/grace.jpg?width=100',
  ],
  [
    'a URL with who asks',
    'can not connect to postgres://ada:secret@db.example.com:5432/shop',
    'can not connect to postgres://grace:other@db.example.com:5433/shop',
  ],
  ['a route', 'GET /users/42/orders failed', 'GET /users/7/orders failed'],
  ['another route', 'GET /users/42/carts failed', 'GET /users/7/carts failed'],
  ['a route with an extension', 'GET /feeds/all.json failed'],
  ['another route with an extension', 'GET /feeds/new.json failed'],
  [
    'hexadecimal',
    'object 3f2a9c4d is corrupt',
    'object 0cc175b9c0f1b6a831c399e269772661 is corrupt',
    'object 9E107D9D372BB6826BD81D3542A419D6 is corrupt',
  ],
  ['a duration', 'canceled after 1532ms', 'canceled after 1.5s', 'canceled after 1m 30s', 'canceled after PT1M30.5S'],
  ['a size', 'body of 1,048,576 bytes is too large', 'body of 12MB is too large', 'body of 1.5 GiB is too large'],
  [
    'an instant',
    'certificate expired at 2026-11-30T21:26:01Z',
    'certificate expired at 30/Nov/2026:21:26:01 +0000',
    'certificate expired at Nov 30, 2026 21:26:01',
    'certificate expired at 2026/11/30 21:26:01',
  ],
  [
    'ids',
    'no order 01J9Z3NDEKTSV4RRFFQ69G5FAV',
    'no order 01HW3Y0QJ8TB6S8ZJ1G7X2M9KD',
    'no order V1StGXR8_Z5jdHi6B-myT',
    'no order cjld2cjxh0000qzrmn831i7rn',
  ],
  [
    'AWS, who may not',
    'User: arn:aws:sts::123456789012:assumed-role/worker/i-0abc is not authorized to perform: sqs:SendMessage on resource: arn:aws:sqs:eu-west-1:123456789012:orders',
    'User: arn:aws:sts::210987654321:assumed-role/other/i-0def is not authorized to perform: sqs:SendMessage on resource: arn:aws:sqs:us-east-1:123456789012:mails',
  ],
  [
    'AWS, another action',
    'User: arn:aws:sts::123456789012:assumed-role/worker/i-0abc is not authorized to perform: s3:GetObject on resource: arn:aws:s3:::bucket/a',
  ],
  [
    'AWS, no such key',
    'NoSuchKey: The specified key does not exist. Key: exports/2026/01/ada.parquet',
    'NoSuchKey: The specified key does not exist. Key: exports/grace/all.csv.gz',
  ],
  [
    'AWS, S3 by its URL',
    'can not read s3://reports/2026/01/ada.parquet',
    'can not read s3://reports/2026/02/grace.parquet',
  ],
  [
    'PostgreSQL, a key that is there',
    'duplicate key value violates unique constraint "users_email_key" Detail: Key (email)=(ada@example.com) already exists.',
    'duplicate key value violates unique constraint "users_email_key" Detail: Key (email)=(nobody) already exists.',
  ],
  [
    'PostgreSQL, a row that is not',
    'insert or update on table "orders" violates foreign key constraint "orders_user_fkey"',
  ],
  ['PostgreSQL, no relation', 'relation "orders" does not exist', 'relation "users" does not exist'],
  ['PostgreSQL, no column', 'column "total" does not exist'],
  ['PostgreSQL, connections', 'FATAL: sorry, too many clients already'],
  [
    'gRPC, no answer in time',
    '4 DEADLINE_EXCEEDED: Deadline exceeded after 5.001s, remote_addr=10.0.0.7:50051',
    '4 DEADLINE_EXCEEDED: Deadline exceeded after 30ms, remote_addr=10.0.1.99:50051',
  ],
  ['gRPC, away', '14 UNAVAILABLE: No connection established', '14 UNAVAILABLE: No connection established'],
  [
    'Kafka',
    'Failed to update metadata after 60000 ms. Topic orders not present',
    'Failed to update metadata after 5000 ms. Topic orders not present',
  ],
  [
    'Kafka, an offset',
    'Offset commit failed on partition orders-3 at offset 8812: The coordinator is not aware of this member.',
    'Offset commit failed on partition orders-11 at offset 9: The coordinator is not aware of this member.',
  ],
  ['Redis, moved', 'MOVED 3999 127.0.0.1:6381', 'MOVED 12182 10.0.3.7:6379'],
  ['Redis, ask', 'ASK 3999 127.0.0.1:6381'],
  ['Redis, type', 'WRONGTYPE Operation against a key holding the wrong kind of value'],
  [
    'Python',
    'Traceback (most recent call last):\n  File "/app/a.py", line 10, in run\n    go()\nFileNotFoundError: [Errno 2] No such file or directory: \'/data/a.csv\'',
    'Traceback (most recent call last):\n  File "/srv/b.py", line 7, in go\n    x()\nFileNotFoundError: [Errno 2] No such file or directory: \'/data/b.csv\'',
  ],
  [
    'Java',
    'java.io.FileNotFoundException: /opt/app/conf/a.properties (No such file or directory)\n\tat java.io.FileInputStream.open0(Native Method)',
    'java.io.FileNotFoundException: /opt/other/b.properties (No such file or directory)\n\tat com.example.A.run(A.java:3)',
  ],
  ['Java, denied', 'java.io.FileNotFoundException: /opt/app/conf/a.properties (Permission denied)'],
  ['a media type', 'Unsupported media type application/vnd.api.json'],
  ['another media type', 'Unsupported media type application/x.ndjson'],
  ['words with a slash', 'read/write timeout', 'read/write timeout'],
  ['other words with a slash', 'connect/read timeout'],
  ['a status', 'Request failed with status code 404'],
  ['another status', 'Request failed with status code 503'],
]

describe('messages of libraries', () => {
  it.each(rows)('are one error where they are: %s', (_, ...messages) => {
    expect([...new Set(messages.map(errorPattern))]).toHaveLength(1)
  })

  it('stay apart where they are different errors', () => {
    const patterns = rows.map(([, message = '']) => errorPattern(message))
    expect(patterns.filter((pattern, place) => patterns.indexOf(pattern) !== place)).toEqual([])
  })

  it('have patterns that are their own', () => {
    for (const pattern of rows.flatMap(([, ...messages]) => messages.map(errorPattern)))
      expect(errorPattern(pattern)).toBe(pattern)
  })

  it.each([
    ['open /var/data/2026/01/x.csv', 'open <path>'],
    ['pod web-7d9f8b6c5d-x2x7q', 'pod web-<id>-<id>'],
    ['GET https://x.example/users/7/orders?page=2', 'GET https://x.example/users/<n>/orders?<query>'],
    ['on arn:aws:sqs:eu-west-1:123456789012:orders.', 'on arn:aws:sqs:<resource>.'],
    ['Key (a, b)=(1, x) exists', 'Key (a, b)=(<text>) exists'],
    ['by postgres://ada:secret@db:5432/shop', 'by postgres://<user>@db:<n>/shop'],
    ['at C:\\Program Files\\App\\x.dll!', 'at <path>!'],
  ])('of %j is %j', (message, pattern) => {
    expect(errorPattern(message)).toBe(pattern)
  })
})
