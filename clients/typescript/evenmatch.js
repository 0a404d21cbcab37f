// Written by `make client-ts` from the server's OpenAPI document; change that instead.

import { Connection, newKey } from "./runtime.js";

export { Connection, ServerRefused } from "./runtime.js";

const id = encodeURIComponent;

export class Evenmatch extends Connection {
  getTickets(query = {}, options) {
    return this.request("GET", "/v1/tickets", { ...options, query });
  }

  createTickets(body, { key = newKey(), ...options } = {}) {
    return this.request("POST", "/v1/tickets", { ...options, body, key });
  }

  getTicket(ticket, query = {}, options) {
    return this.request("GET", `/v1/tickets/${id(ticket)}`, { ...options, query });
  }

  cancelTicket(ticket, options) {
    return this.request("DELETE", `/v1/tickets/${id(ticket)}`, options);
  }

  updateTicket(ticket, body, options) {
    return this.request("PATCH", `/v1/tickets/${id(ticket)}`, { ...options, body });
  }

  heartbeat(ticket, options) {
    return this.request("POST", `/v1/tickets/${id(ticket)}/heartbeat`, options);
  }

  followTicket(ticket, options) {
    return this.events(`/v1/tickets/${id(ticket)}/events`, options);
  }

  explainTicket(ticket, options) {
    return this.request("GET", `/v1/tickets/${id(ticket)}/explain`, options);
  }

  getMatch(match, options) {
    return this.request("GET", `/v1/matches/${id(match)}`, options);
  }

  assignMatch(match, body, options) {
    return this.request("PUT", `/v1/matches/${id(match)}/assignment`, { ...options, body });
  }

  reportOutcome(match, body, options) {
    return this.request("POST", `/v1/matches/${id(match)}/outcome`, { ...options, body });
  }

  getRating(player, query = {}, options) {
    return this.request("GET", `/v1/players/${id(player)}/rating`, { ...options, query });
  }

  finishMatch(match, options) {
    return this.request("POST", `/v1/matches/${id(match)}/finish`, options);
  }

  acceptMatch(match, body, options) {
    return this.request("POST", `/v1/matches/${id(match)}/accept`, { ...options, body });
  }

  declineMatch(match, body, options) {
    return this.request("POST", `/v1/matches/${id(match)}/decline`, { ...options, body });
  }

  openMatch(match, body, options) {
    return this.request("POST", `/v1/matches/${id(match)}/open`, { ...options, body });
  }

  getOpenMatch(match, options) {
    return this.request("GET", `/v1/matches/${id(match)}/open`, options);
  }

  closeMatch(match, options) {
    return this.request("POST", `/v1/matches/${id(match)}/close`, options);
  }

  getAllocations(query = {}, options) {
    return this.request("GET", "/v1/allocations", { ...options, query });
  }

  retryAllocation(match, options) {
    return this.request("POST", `/v1/allocations/${id(match)}/retry`, options);
  }

  getQueues(options) {
    return this.request("GET", "/v1/queues", options);
  }

  getQueueStats(queue, options) {
    return this.request("GET", `/v1/queues/${id(queue)}/stats`, options);
  }

  getLongestWaiting(queue, query = {}, options) {
    return this.request("GET", `/v1/queues/${id(queue)}/waiting`, { ...options, query });
  }

  getQueueMatches(queue, query = {}, options) {
    return this.request("GET", `/v1/queues/${id(queue)}/matches`, { ...options, query });
  }

  followDashboard(options) {
    return this.events(`/v1/dashboard/events`, options);
  }

  getMatchStory(match, options) {
    return this.request("GET", `/v1/dashboard/matches/${id(match)}`, options);
  }

  getConfig(options) {
    return this.request("GET", "/v1/config", options);
  }

  putConfig(body, query = {}, options) {
    return this.request("PUT", "/v1/config", { ...options, body, query, mayRepeat: query.if_version === undefined });
  }

  pauseQueue(queue, options) {
    return this.request("POST", `/v1/queues/${id(queue)}/pause`, options);
  }

  resumeQueue(queue, options) {
    return this.request("POST", `/v1/queues/${id(queue)}/resume`, options);
  }

  putQueuePolicy(queue, body, options) {
    return this.request("PUT", `/v1/queues/${id(queue)}/policy`, { ...options, body });
  }

  putQueueShadow(queue, body, options) {
    return this.request("PUT", `/v1/queues/${id(queue)}/shadow`, { ...options, body });
  }

  getDrain(options) {
    return this.request("GET", "/v1/drain", options);
  }

  beginDrain(query = {}, options) {
    return this.request("POST", "/v1/drain", { ...options, query });
  }

  endDrain(options) {
    return this.request("DELETE", "/v1/drain", options);
  }

  makeGuest(options) {
    return this.request("POST", "/v1/guests", { ...options, mayRepeat: false });
  }

  getAudit(query = {}, options) {
    return this.request("GET", "/v1/audit", { ...options, query });
  }

  followGameLift(options) {
    return this.events(`/v1/gamelift/events`, options);
  }

  getMetrics(options) {
    return this.request("GET", "/metrics", options);
  }

  getHealth(options) {
    return this.request("GET", "/healthz", options);
  }

  getReadiness(options) {
    return this.request("GET", "/readyz", options);
  }
}
