import { type ErrorCode, errorCodes } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { closed } from './common.js'

/** RFC 9457 with our own members. Sent as `application/problem+json`. */
export const Problem = closed(
  {
    type: Type.String({ description: 'A URI reference that names the kind of problem: `/problems/{code}`.' }),
    title: Type.String({ description: 'The same for every problem of this code.' }),
    status: Type.Integer({ description: 'The HTTP status, repeated.' }),
    detail: Type.String({ description: 'One sentence about this occurrence.' }),
    instance: Type.String({ description: 'The path of the request, without its query.' }),
    code: Type.Enum([...errorCodes] as ErrorCode[], { description: 'Stable; what programs should look at.' }),
    request_id: Type.String({ description: 'Finds the request in the log of the server.' }),
    errors: Type.Optional(
      Type.Array(closed({ path: Type.String(), message: Type.String() }), {
        description: 'Every invalid place of the request, such as `tasks[3].payload`. An empty path is the whole body.',
      }),
    ),
  },
  { description: 'A problem document (RFC 9457).' },
)

export type ProblemBody = Static<typeof Problem>
