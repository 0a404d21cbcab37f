// Written by `make client-ts` from the server's OpenAPI document; change that instead.

import { Connection } from "./runtime.js";

export { Connection, ServerRefused } from "./runtime.js";

const id = encodeURIComponent;

export class Evenmatch extends Connection {
  getTickets(query = {}) {
    return this.request("GET", "/v1/tickets", { query });
  }

  createTickets(body, { key = crypto.randomUUID() } = {}) {
    return this.request("POST", "/v1/tickets", { body, key });
  }

  getTicket(ticket, query = {}) {
    return this.request("GET", `/v1/tickets/${id(ticket)}`, { query });
  }

  cancelTicket(ticket) {
    return this.request("DELETE", `/v1/tickets/${id(ticket)}`);
  }

  updateTicket(ticket, body) {
    return this.request("PATCH", `/v1/tickets/${id(ticket)}`, { body });
  }

  heartbeat(ticket) {
    return this.request("POST", `/v1/tickets/${id(ticket)}/heartbeat`);
  }

  followTicket(ticket, options) {
    return this.events(`/v1/tickets/${id(ticket)}/events`, options);
  }

  explainTicket(ticket) {
    return this.request("GET", `/v1/tickets/${id(ticket)}/explain`);
  }

  getMatch(match) {
    return this.request("GET", `/v1/matches/${id(match)}`);
  }

  assignMatch(match, body) {
    return this.request("PUT", `/v1/matches/${id(match)}/assignment`, { body });
  }

  reportOutcome(match, body) {
    return this.request("POST", `/v1/matches/${id(match)}/outcome`, { body });
  }

  getRating(player, query = {}) {
    return this.request("GET", `/v1/players/${id(player)}/rating`, { query });
  }

  finishMatch(match) {
    return this.request("POST", `/v1/matches/${id(match)}/finish`);
  }

  acceptMatch(match, body) {
    return this.request("POST", `/v1/matches/${id(match)}/accept`, { body });
  }

  declineMatch(match, body) {
    return this.request("POST", `/v1/matches/${id(match)}/decline`, { body });
  }

  openMatch(match, body) {
    return this.request("POST", `/v1/matches/${id(match)}/open`, { body });
  }

  getOpenMatch(match) {
    return this.request("GET", `/v1/matches/${id(match)}/open`);
  }

  closeMatch(match) {
    return this.request("POST", `/v1/matches/${id(match)}/close`);
  }

  getAllocations(query = {}) {
    return this.request("GET", "/v1/allocations", { query });
  }

  retryAllocation(match) {
    return this.request("POST", `/v1/allocations/${id(match)}/retry`);
  }

  getQueues() {
    return this.request("GET", "/v1/queues");
  }

  getQueueStats(queue) {
    return this.request("GET", `/v1/queues/${id(queue)}/stats`);
  }

  getLongestWaiting(queue, query = {}) {
    return this.request("GET", `/v1/queues/${id(queue)}/waiting`, { query });
  }

  getQueueMatches(queue, query = {}) {
    return this.request("GET", `/v1/queues/${id(queue)}/matches`, { query });
  }

  followDashboard(options) {
    return this.events(`/v1/dashboard/events`, options);
  }

  getMatchStory(match) {
    return this.request("GET", `/v1/dashboard/matches/${id(match)}`);
  }

  getConfig() {
    return this.request("GET", "/v1/config");
  }

  putConfig(body, query = {}) {
    return this.request("PUT", "/v1/config", { body, query });
  }

  pauseQueue(queue) {
    return this.request("POST", `/v1/queues/${id(queue)}/pause`);
  }

  resumeQueue(queue) {
    return this.request("POST", `/v1/queues/${id(queue)}/resume`);
  }

  putQueuePolicy(queue, body) {
    return this.request("PUT", `/v1/queues/${id(queue)}/policy`, { body });
  }

  putQueueShadow(queue, body) {
    return this.request("PUT", `/v1/queues/${id(queue)}/shadow`, { body });
  }

  getDrain() {
    return this.request("GET", "/v1/drain");
  }

  beginDrain(query = {}) {
    return this.request("POST", "/v1/drain", { query });
  }

  endDrain() {
    return this.request("DELETE", "/v1/drain");
  }

  makeGuest() {
    return this.request("POST", "/v1/guests", { mayRepeat: false });
  }

  getAudit(query = {}) {
    return this.request("GET", "/v1/audit", { query });
  }

  followGameLift(options) {
    return this.events(`/v1/gamelift/events`, options);
  }

  getMetrics() {
    return this.request("GET", "/metrics");
  }

  getHealth() {
    return this.request("GET", "/healthz");
  }

  getReadiness() {
    return this.request("GET", "/readyz");
  }
}
